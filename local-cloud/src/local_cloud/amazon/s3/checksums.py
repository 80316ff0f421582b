"""The checksums that clients announce and ask for, by the names that S3 gives them."""

from __future__ import annotations

import base64
import functools
import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import google_crc32c

from local_cloud.amazon.s3.errors import Refusal

_BLOCK = 1 << 20


class Hasher(Protocol):
    """What hashlib's objects are."""

    def update(self, data: bytes, /) -> None:
        """Take more."""

    def digest(self) -> bytes:
        """Return the digest of what was taken."""


class Crc:
    """A cyclic redundancy check as such an object."""

    def __init__(self, extend: Callable[[int, bytes], int], size: int) -> None:
        """extend: the value of more data from the value so far; size: bytes."""
        self._extend, self._size, self._value = extend, size, 0

    def update(self, data: bytes, /) -> None:
        """Take more."""
        self._value = self._extend(self._value, data)

    def digest(self) -> bytes:
        """Return the digest of what was taken, big-endian."""
        return self._value.to_bytes(self._size, "big")


@functools.cache
def _crc64_table() -> list[int]:
    """Return the table of the NVMe polynomial, reflected.

    NVM Command Set Specification 1.0, 5.2.1.3.4.
    """
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x9A6C9329AC4BC9B5 if value & 1 else 0)
        table.append(value)
    return table


def crc64nvme(value: int, data: bytes) -> int:
    """Compute CRC64NVME slowly, some 10 MB/s.

    No client in Python asks for it unless told to.
    """
    table, value = _crc64_table(), value ^ 0xFFFFFFFFFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFFFFFFFFFF


HASHERS: dict[str, Callable[[], Hasher]] = {
    "CRC32": lambda: Crc(lambda value, data: zlib.crc32(data, value), 4),
    "CRC32C": lambda: Crc(google_crc32c.extend, 4),
    "CRC64NVME": lambda: Crc(crc64nvme, 8),
    "SHA1": lambda: hashlib.sha1(usedforsecurity=False),
    "SHA256": hashlib.sha256,
    "SHA512": hashlib.sha512,
    "MD5": lambda: hashlib.md5(usedforsecurity=False),
}
MEMBERS = {f"Checksum{name}" for name in HASHERS}


def require_algorithm(algorithm: str) -> str:
    """Return the algorithm itself. Raises Refusal for one that is not there."""
    if algorithm not in HASHERS:
        raise Refusal(
            "InvalidRequest",
            "Checksum algorithm provided is unsupported. Please try "
            f"again with any of the valid types: [{', '.join(sorted(HASHERS))}]",
        )
    return algorithm


def encode(digest: bytes) -> str:
    """Encode it as headers and XML carry it."""
    return base64.b64encode(digest).decode()


def of_file(path: Path, algorithm: str) -> str:
    """Return the checksum of a file's content."""
    hasher = HASHERS[algorithm]()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            hasher.update(block)
    return encode(hasher.digest())


def of_parts(algorithm: str, parts: list[str]) -> str:
    """Return the checksum of the parts' checksums, as S3 has it of uploads in parts."""
    hasher = HASHERS[algorithm]()
    for part in parts:
        hasher.update(base64.b64decode(part))
    return f"{encode(hasher.digest())}-{len(parts)}"
