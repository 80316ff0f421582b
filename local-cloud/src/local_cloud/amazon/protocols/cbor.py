"""CBOR (RFC 8949), as far as Amazon's protocol rpc-v2-cbor uses it."""

from __future__ import annotations

import struct
from typing import Any

from local_cloud.http.bodies import DEEPEST, MOST_VALUES

NUMBER, NEGATIVE, BYTES, TEXT, LIST, MAP, TAG, SIMPLE = range(8)  # the major types
EPOCH = 1  # the tag of a time in seconds since the epoch
INDEFINITE = 31  # a list or a map without a length: BREAK ends it
BREAK = 0xFF
CONSTANTS = {20: False, 21: True, 22: None, 23: None}
FLOATS = {25: ">e", 26: ">f", 27: ">d"}
SIZES = {24: 1, 25: 2, 26: 4, 27: 8}  # bytes of a number behind its head


class Timestamp(float):
    """Seconds since the epoch, which CBOR has a tag for."""


def dumps(value: Any) -> bytes:
    """Return the bytes of a value: of null, booleans, numbers, texts, times, lists and maps."""
    match value:
        case None:
            return bytes([SIMPLE << 5 | 22])
        case bool():
            return bytes([SIMPLE << 5 | (21 if value else 20)])
        case int():
            return _head(NUMBER, value) if value >= 0 else _head(NEGATIVE, -1 - value)
        case float():
            tag = _head(TAG, EPOCH) if isinstance(value, Timestamp) else b""
            return tag + bytes([SIMPLE << 5 | 27]) + struct.pack(">d", value)
        case str():
            content = value.encode()
            return _head(TEXT, len(content)) + content
        case list():
            return _head(LIST, len(value)) + b"".join(map(dumps, value))
        case dict():
            pairs = (dumps(name) + dumps(each) for name, each in value.items())
            return _head(MAP, len(value)) + b"".join(pairs)
    raise TypeError(f"{type(value).__name__} is no type of these messages")


def _head(major: int, number: int) -> bytes:
    """Return a major type with its number, in as few bytes as it needs."""
    if number < min(SIZES):
        return bytes([major << 5 | number])
    info = next(info for info, size in SIZES.items() if number < 1 << 8 * size)
    return bytes([major << 5 | info]) + number.to_bytes(SIZES[info], "big")


def loads(content: bytes) -> Any:
    """Return the value in these bytes; times are seconds since the epoch.

    Raises ValueError for what is no CBOR, has too many values, or nests too deep.
    """
    reader = _Reader(content)
    value = reader.value(0)
    if reader.at != len(content):
        raise ValueError("bytes are left behind the value")
    return value


class _Reader:
    """Bytes, and how far they have been read."""

    def __init__(self, content: bytes) -> None:
        self.at = 0
        self._content = content
        self._values = 0

    def value(self, depth: int) -> Any:
        """Return the next value."""
        self._values += 1
        if self._values > MOST_VALUES or depth > DEEPEST:
            raise ValueError("there are too many values, or they nest too deep")
        major, info = divmod(self._take(1)[0], 32)
        match major:
            case 0:
                return self._number(info)
            case 1:
                return -1 - self._number(info)
            case 2:
                return self._take(self._number(info))
            case 3:
                return self._take(self._number(info)).decode()
            case 4:
                return [self.value(depth + 1) for _ in self._items(info)]
            case 5:
                return {self._key(depth): self.value(depth + 1) for _ in self._items(info)}
            case 6:
                return self._tagged(info, depth)
        return self._simple(info)

    def _items(self, info: int) -> Any:
        """Count the items of a list or a map."""
        if info != INDEFINITE:
            yield from range(self._number(info))
            return
        while self._content[self.at : self.at + 1] != bytes([BREAK]):
            yield None
        self.at += 1

    def _key(self, depth: int) -> str:
        key = self.value(depth + 1)
        if not isinstance(key, str):
            raise ValueError("a member's name is no text")
        return key

    def _tagged(self, info: int, depth: int) -> Any:
        if self._number(info) != EPOCH:
            raise ValueError("a tag is none of a time")
        return self.value(depth + 1)

    def _simple(self, info: int) -> Any:
        if info in CONSTANTS:
            return CONSTANTS[info]
        if info not in FLOATS:
            raise ValueError(f"there is no simple value {info}")
        return struct.unpack(FLOATS[info], self._take(struct.calcsize(FLOATS[info])))[0]

    def _number(self, info: int) -> int:
        if info < min(SIZES):
            return info
        if info not in SIZES:
            raise ValueError(f"{info} says no length")
        return int.from_bytes(self._take(SIZES[info]), "big")

    def _take(self, count: int) -> bytes:
        found = self._content[self.at : self.at + count]
        if len(found) != count:
            raise ValueError("it ends too early")
        self.at += count
        return found
