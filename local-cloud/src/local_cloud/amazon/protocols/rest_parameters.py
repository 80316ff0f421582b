"""Parameters of the REST protocols that stand in the query or in a header, by botocore's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from botocore.model import OperationModel, Shape

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.json_types import Json

# The error for a parameter that cannot be read: its name, its text, the type that it should have.
Unreadable = Callable[[str, str, str], ServiceError]


def parameters(
    operation: OperationModel,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    *,
    unreadable: Unreadable,
) -> Json:
    """Return the parameters in query and headers, under the model's names."""
    read: Json = {}
    shape = operation.input_shape
    for name, member in shape.members.items() if shape else ():
        where = member.serialization
        key = where.get("name", name)
        match where.get("location"):
            case "querystring" if key in query:
                read[name] = value(member, query[key], key, unreadable=unreadable)
            case "header" if key.lower() in headers:
                read[name] = value(member, headers[key.lower()], key, unreadable=unreadable)
            case "headers":
                read[name] = {
                    header[len(key) :]: text
                    for header, text in headers.items()
                    if header.startswith(key.lower())
                }
    return read


def value(shape: Shape, text: str, key: str, *, unreadable: Unreadable) -> Any:
    """Return a parameter of this shape from its text. Raises what `unreadable` makes."""
    match shape.type_name:
        case "integer" | "long":
            try:
                return int(text)
            except ValueError:
                raise unreadable(key, text, shape.type_name) from None
        case "boolean":
            return text.lower() == "true"
        case "timestamp":
            return _time(text)
        case "list":
            return [part.strip() for part in text.split(",")]
        case _:
            return text


def _time(text: str) -> float | None:
    """Return seconds since the epoch; None for what is no time, which headers' readers ignore."""
    parsers: tuple[Callable[[str], datetime], ...] = (
        parsedate_to_datetime,
        datetime.fromisoformat,
    )
    for parse_time in parsers:
        try:
            moment = parse_time(text)
            whole = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return whole.astimezone(UTC).timestamp()  # OverflowError before year 1, after 9999
        except (ValueError, OverflowError):
            continue
    return None


def text(shape: Shape, value: Any) -> str:
    """Return a header's text for a value of this shape."""
    return str(value).lower() if shape.type_name == "boolean" else str(value)
