"""Limits on lengths and numbers that hold for the fields of every message.

Sources: what the client library documents (vertex_fields.json); for labels, the service's answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local_cloud.google.definitions.vertex_fields import find_limits
from local_cloud.google.rest import ApiError

MOST_LABELS, LONGEST_LABEL, LABEL_BYTES = 64, 63, 127  # "less than 64 characters", "128 bytes"
SYSTEM = "aiplatform.googleapis.com/"  # "System reserved label keys are prefixed with" it
# As the service says it, for every kind of resource.
LABELS = (
    "There can be no more than 64 labels attached to a single resource. Label keys and values can"
    " only contain lowercase letters, numbers, dashes and underscores. Label keys must start with a"
    " letter or number, must be less than 64 characters in length, and must be less that 128 bytes"
    " in length when encoded in UTF-8. Label values must be less than 64 characters in length, and"
    " must be less that 128 bytes in length when encoded in UTF-8."
)


def refuse_field(field: str, message: str) -> ApiError:
    """Return the error that a field has such a value, in the form that the service gives it."""
    what = f"List of found errors:\t1.Field: {field}; Message: {message}\t"
    return ApiError("INVALID_ARGUMENT", what)


def check(kind: Any, message: Any, where: str) -> None:
    """Refuse a message with a field that is too long, or labels that are not allowed."""
    for field, most in find_limits(kind).items():
        value = getattr(message, field)
        if len(value) > most:
            what = "characters" if isinstance(value, str) else "entries"
            text = f"it has {len(value)} {what}; {most} are allowed."
            raise refuse_field(_place(where, field), text)
    fields = message.DESCRIPTOR.fields_by_name
    is_resource = "name" in fields and "labels" in fields  # an event of a pipeline is none
    if is_resource and not _are_allowed(message.labels):
        raise refuse_field(_place(where, "labels"), LABELS)


def _place(where: str, field: str) -> str:
    return ".".join(filter(None, [where, field]))


def _are_allowed(labels: Mapping[str, str]) -> bool:
    """Return whether a user may give a resource these labels; SYSTEM ones are the service's."""
    own = {key: value for key, value in labels.items() if not key.startswith(SYSTEM)}
    good = all(key and key[0].isalnum() and _is_label(key) for key in own)
    return good and len(own) <= MOST_LABELS and all(map(_is_label, own.values()))


def _is_label(text: str) -> bool:
    if len(text) > LONGEST_LABEL or len(text.encode()) > LABEL_BYTES:
        return False
    return all(letter in "_-" or (letter.isalnum() and not letter.isupper()) for letter in text)
