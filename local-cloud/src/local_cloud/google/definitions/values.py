"""A value of a request, checked against its schema in a discovery document.

The forms of JSON that Google's services take: protobuf.dev/programming-guides/json. A number may
come as text, and a whole number whose schema says text (int64) as a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from local_cloud.errors import LocalCloudError
from local_cloud.json_types import Json

RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
WHOLE = re.compile(r"-?[0-9]{1,20}")  # longer ones are in no range
SHOWN = 80  # characters of a value that a message repeats


class WrongValue(LocalCloudError):
    """A value that does not fit its schema; `where` is the name of the field or the parameter."""

    def __init__(self, where: str, kind: str, value: Any) -> None:
        """kind: what the schema has there."""
        shown = repr(value)
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
        super().__init__(f"Invalid value at '{where}' (TYPE_{kind.upper()}), {shown}")
        self.where = where


class Values:
    """Checks values against the schemas of one API."""

    def __init__(self, schemas: Mapping[str, Json], *, keep_nulls: bool, texts: bool) -> None:
        """keep_nulls: in a patch, null removes a field; elsewhere, it is no value.

        texts: an int32 may come as text.
        """
        self._schemas, self._keep_nulls, self._texts = schemas, keep_nulls, texts
        self._kinds: dict[str, Callable[[Json, Any, str], Any]] = {
            "object": self._object,
            "array": self._array,
            "string": _string,
            "integer": self._integer,
            "number": _number,
            "boolean": _boolean,
            "any": lambda _, value, __: value,
        }

    def check(self, schema: Json, value: Any, where: str) -> Any:
        """Return the value in its usual form, without fields that the API does not know.

        Raises WrongValue.
        """
        schema = self._resolve(schema)
        return self._kinds[schema["type"]](schema, value, where)

    def _resolve(self, schema: Json) -> Json:
        while "$ref" in schema:
            schema = self._schemas[schema["$ref"]]
        return schema

    def _object(self, schema: Json, value: Any, where: str) -> Json:
        if not isinstance(value, dict):
            raise WrongValue(where, "message", value)
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        members = {}
        for name, each in value.items():
            if (inner := properties.get(name, others)) is None:
                continue
            if each is not None:
                members[name] = self.check(inner, each, f"{where}.{name}" if where else name)
            elif self._keep_nulls or self._resolve(inner)["type"] == "any":
                members[name] = None
        return members

    def _array(self, schema: Json, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise WrongValue(where, "list", value)
        items = schema["items"]
        return [self.check(items, each, f"{where}[{place}]") for place, each in enumerate(value)]

    def _integer(self, schema: Json, value: Any, where: str) -> int:
        if isinstance(value, str) and not self._texts:
            raise WrongValue(where, schema["format"], value)
        return whole(schema["format"], value, where)


def whole(kind: str, value: Any, where: str) -> int:
    """Return a whole number of a format: int32, uint32, int64, uint64. Raises WrongValue."""
    number = None
    if isinstance(value, str) and WHOLE.fullmatch(value):
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    least, most = RANGES[kind]
    if number is None or not least <= number <= most:
        raise WrongValue(where, kind, value)
    return number


def _string(schema: Json, value: Any, where: str) -> str:
    kind = schema.get("format")
    if kind in RANGES:
        return str(whole(kind, value, where))
    if not isinstance(value, str):
        raise WrongValue(where, "string", value)
    return value


def _number(_: Json, value: Any, where: str) -> float:
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
    except (ValueError, OverflowError):
        pass
    raise WrongValue(where, "double", value)


def _boolean(_: Json, value: Any, where: str) -> bool:
    if value in ("true", "false"):
        return bool(value == "true")
    if not isinstance(value, bool):
        raise WrongValue(where, "bool", value)
    return value
