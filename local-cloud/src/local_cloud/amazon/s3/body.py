"""A request's body as it comes: taken out of its chunks, and checked against what was announced."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from local_cloud.amazon.s3.aws_chunked import ChunkedBody
from local_cloud.amazon.s3.checksums import HASHERS, Hasher, encode, require_algorithm
from local_cloud.amazon.s3.errors import Refusal
from local_cloud.store.space import Counted, Space

Chunks = AsyncIterator[bytes]
_CHECKSUM = "x-amz-checksum-"
_ABOUT = {"mode", "type", "algorithm"}  # such headers hold no checksum
_LARGEST = 8 << 20  # bytes of a body of XML; the longest that S3 takes names 10,000 parts


@dataclass
class Received:
    """A body on disk, and the announced checksums, which hold; such as ChecksumCRC32."""

    path: Path
    checksums: dict[str, str]


class Incoming:
    """What its headers say of a body."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        """Raise Refusal for what makes no sense."""
        self._headers = headers
        self._chunked = ChunkedBody() if _is_chunked(headers) else None
        self._size = 0
        self._hashers: dict[str, Hasher] = {name: HASHERS[name]() for name in self._algorithms()}

    def _algorithms(self) -> set[str]:
        """Return the algorithms of which there is, or will be, a checksum to compare with."""
        trailers = self._headers.get("x-amz-trailer", "").lower().split(",")
        names = [name for name in self._headers if name not in trailers] + trailers
        names = [name.strip().removeprefix(_CHECKSUM) for name in names if _CHECKSUM in name]
        algorithms = {require_algorithm(name.upper()) for name in names if name not in _ABOUT}
        if len(algorithms) > 1:
            message = "Expecting a single x-amz-checksum- header. Multiple checksum Types are not"
            raise Refusal("InvalidRequest", message + " allowed.")
        if "x-amz-sdk-checksum-algorithm" in self._headers and not algorithms:
            raise Refusal(
                "InvalidRequest",
                "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or "
                "x-amz-trailer headers were found.",
            )
        return algorithms | ({"MD5"} if "content-md5" in self._headers else set())

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes carry."""
        if self._chunked:
            data = self._chunked.feed(data)
        self._size += len(data)
        for hasher in self._hashers.values():
            hasher.update(data)
        return data

    def finish(self) -> dict[str, str]:
        """Return the checksums, when all has come.

        Raises Refusal where something was not as announced.
        """
        trailers: dict[str, str] = {}
        if self._chunked:
            self._chunked.finish()
            trailers = self._chunked.trailers
            announced = self._headers.get("x-amz-decoded-content-length")
            if announced not in (None, str(self._size)):
                message = "The request body does not have the size that was announced"
                raise Refusal("IncompleteBody", message)
        checksums = {}
        for name, hasher in self._hashers.items():
            key = _CHECKSUM + name.lower()
            sent = self._headers.get(key) or trailers.get(key)
            if sent is not None:
                _compare(name, key, sent, hasher=hasher)
                checksums[f"Checksum{name}"] = encode(hasher.digest())
        if "content-md5" in self._headers:
            _compare_md5(self._headers["content-md5"], self._hashers["MD5"])
        return checksums

    async def to_file(self, chunks: Chunks, path: Path, space: Space) -> Received:
        """Write the body to a file."""
        with space.open(path) as file:
            async for chunk in chunks:
                await run_in_threadpool(self._write, file, chunk)
        return Received(path, self.finish())

    async def whole(self, chunks: Chunks) -> bytes:
        """Return the body, of a few megabytes at most."""
        content = b""
        async for chunk in chunks:
            content += self.feed(chunk)
            if len(content) > _LARGEST:
                message = "Your request was too big."
                raise Refusal("MaxMessageLengthExceeded", message)
        self.finish()
        return content

    def _write(self, file: Counted, chunk: bytes) -> None:
        file.write(self.feed(chunk))


def _is_chunked(headers: Mapping[str, str]) -> bool:
    return headers.get("x-amz-content-sha256", "").startswith("STREAMING-")


def _compare(name: str, key: str, sent: str, *, hasher: Hasher) -> None:
    try:
        is_possible = len(base64.b64decode(sent, validate=True)) == len(hasher.digest())
    except (binascii.Error, ValueError):
        is_possible = False
    if not is_possible:
        raise Refusal("InvalidRequest", f"Value for {key} header is invalid.")
    if sent != encode(hasher.digest()):
        message = f"The {name} you specified did not match the calculated checksum."
        raise Refusal("BadDigest", message)


def _compare_md5(sent: str, hasher: Hasher) -> None:
    try:
        decoded = base64.b64decode(sent, validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) != 16:
        message = "The Content-MD5 you specified was invalid."
        raise Refusal("InvalidDigest", message)
    if decoded != hasher.digest():
        message = "The Content-MD5 you specified did not match what we received."
        raise Refusal("BadDigest", message)
