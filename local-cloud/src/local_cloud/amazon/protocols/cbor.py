"""CBOR (RFC 8949) as botocore reads and writes it, with limits: what we read is not a service's."""

from __future__ import annotations

import io
from typing import Any

from botocore.model import Shape
from botocore.parsers import BaseCBORParser, ResponseParserError
from botocore.serialize import RpcV2CBORSerializer

from local_cloud.http.bodies import DEEPEST, LARGEST, MOST_VALUES


def dumps(value: Any, shape: Shape) -> bytes:
    """Return the bytes of a value of this shape; times are seconds since the epoch."""
    content = bytearray()
    _Writer()._serialize_data_item(content, value, shape)
    return bytes(content)


def loads(content: bytes) -> Any:
    """Return the value in these bytes; times are seconds since the epoch.

    Raises ValueError for what is no CBOR, has too many values, or nests too deep.
    """
    stream = _Stream(content)
    try:
        value = _Reader().parse_data_item(stream)
    except ResponseParserError as problem:
        raise ValueError(str(problem)) from None
    if stream.peek(1):
        raise ValueError("bytes are left behind the value")
    return value


class _Writer(RpcV2CBORSerializer):  # type: ignore[misc] # botocore has no types
    def _convert_timestamp_to_str(self, value: float, timestamp_format: str | None = None) -> float:
        """Leave a time as it is: a datetime's way takes five times as long."""
        return value


class _Reader(BaseCBORParser):  # type: ignore[misc] # botocore has no types
    def __init__(self) -> None:
        super().__init__(timestamp_parser=float)
        self._values = self._depth = 0

    def parse_data_item(self, stream: _Stream) -> Any:
        """Return the next value."""
        self._values += 1
        self._depth += 1
        if self._values > MOST_VALUES or self._depth > DEEPEST:
            raise ValueError("there are too many values, or they nest too deep")
        try:
            value = super().parse_data_item(stream)
        except TypeError:  # a list, say, cannot be a member's name
            raise ValueError("a member's name is no text") from None
        if isinstance(value, dict) and not all(isinstance(name, str) for name in value):
            raise ValueError("a member's name is no text")
        self._depth -= 1
        return value


class _Stream(io.BytesIO):
    """Bytes that never claim memory for more than there are, whatever length they announce."""

    def peek(self, count: int) -> bytes:
        """Return the next bytes, and stay before them."""
        at = self.tell()
        found = self.read1(count)
        self.seek(at)
        return found

    def read(self, count: int | None = -1) -> bytes:
        """Return so many bytes, or say that there are fewer."""
        found = super().read(min(count or 0, LARGEST + 1))
        if len(found) != count:
            raise ValueError("it ends too early")
        return found
