"""Which fields of a message Vertex AI requires, and how long they may be.

Source: vertex_fields.json, which tools/vertex_fields.py writes from the client library.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

PACKAGE = "google.cloud.aiplatform.v1."
FILE = Path(__file__).with_suffix(".json")


def find_required(kind: Any) -> frozenset[str]:
    """Return the names of the fields that the documentation of a message calls required."""
    required = _rules(kind).get("required", ())
    return frozenset(name for name in required if _has_field(kind, name))


def find_limits(kind: Any) -> dict[str, int]:
    """Return the most characters, or entries, that a message's fields may have, if it says so."""
    longest = _rules(kind).get("longest", {})
    return {name: most for name, most in longest.items() if _has_field(kind, name)}


def _rules(kind: Any) -> dict[str, Any]:
    rules: dict[str, Any] = _read().get(kind.pb().DESCRIPTOR.full_name.removeprefix(PACKAGE), {})
    return rules


def _has_field(kind: Any, name: str) -> bool:
    """Return whether the installed library has a field, which the file's version had."""
    return name in kind.pb().DESCRIPTOR.fields_by_name


@functools.cache
def _read() -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return fields
