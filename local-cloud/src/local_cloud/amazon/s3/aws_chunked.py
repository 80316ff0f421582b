"""Bodies in `aws-chunked`: pieces with their sizes, then trailers such as a checksum.

docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html. The signatures of the pieces
are not checked: who may send is decided by the address.
"""

from __future__ import annotations

import re

from local_cloud.amazon.s3.errors import Refusal

_LINE = 4096  # bytes, the longest
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;.*)?")


class ChunkedBody:
    """Takes a body as it comes, in pieces of any size, and gives what it carries."""

    def __init__(self) -> None:
        """Begin at the beginning of the body."""
        self.trailers: dict[str, str] = {}
        self._buffer = b""
        self._left = 0  # bytes of the present piece that are still to come
        self._read = self._size
        self._is_complete = False

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes carry. Raises Refusal for what is no such body."""
        if self._left >= len(data) and not self._buffer:  # all of it is inside one piece
            self._left -= len(data)
            return data
        self._buffer += data
        pieces = []
        while self._buffer:
            if self._left:
                piece = self._buffer[: self._left]
                pieces.append(piece)
                self._left -= len(piece)
                self._buffer = self._buffer[len(piece) :]
                continue
            line, end, rest = self._buffer.partition(b"\r\n")
            if len(line) > _LINE:
                raise _incomplete()
            if not end:
                break
            self._buffer = rest
            self._read(line)
        return b"".join(pieces)

    def finish(self) -> None:
        """Raise Refusal unless the body is complete."""
        if not self._is_complete:
            raise _incomplete()

    def _size(self, line: bytes) -> None:
        match = _SIZE.fullmatch(line)
        if match is None:
            raise _incomplete()
        self._left = int(match[1], 16)
        self._is_complete = self._left == 0
        self._read = self._trailer if self._is_complete else self._end_of_piece

    def _end_of_piece(self, line: bytes) -> None:
        if line:
            raise _incomplete()
        self._read = self._size

    def _trailer(self, line: bytes) -> None:
        name, _, value = line.decode("latin-1").partition(":")
        if name:
            self.trailers[name.strip().lower()] = value.strip()


def _incomplete() -> Refusal:
    message = "You did not provide the number of bytes specified by the Content-Length HTTP header"
    return Refusal("IncompleteBody", message)
