"""A body of type multipart/related (RFC 2387), metadata and media, read as it comes."""

from __future__ import annotations

from email.message import Message

from local_cloud.errors import LocalCloudError

_LARGEST_HEAD = 1 << 20  # bytes: the metadata and both parts' headers


class BadBody(LocalCloudError):
    """The body is not what its type says."""


class Related:
    """Feed it the body; it gives the media's bytes and keeps the rest."""

    def __init__(self, content_type: str) -> None:
        """content_type: of the whole body."""
        header = Message()
        header["content-type"] = content_type
        boundary = header.get_param("boundary")
        kind = header.get_content_type()
        if kind != "multipart/related" or not isinstance(boundary, str) or not boundary:
            raise BadBody("multipart/related with a boundary is needed as the body's type")
        if boundary[0] == boundary[-1] == "'":  # so gcloud quotes it
            boundary = boundary[1:-1]
        self._boundary = b"--" + boundary.encode()
        self._line_end = b""  # known once the first boundary is there
        self._buffer = b""
        self._in_media = self._ended = False
        self.metadata = b""
        self.content_type = ""

    def feed(self, data: bytes) -> bytes:
        """Return the media's bytes, as far as they are known to be media."""
        self._buffer += data
        if not self._in_media and not self._read_head():
            return b""
        if self._ended:
            return b""
        delimiter = self._line_end + self._boundary
        media, delimiter_there, _ = self._buffer.partition(delimiter)
        if delimiter_there:
            self._ended, self._buffer = True, b""
            return media
        kept = len(delimiter) - 1  # may be the beginning of the delimiter
        media, self._buffer = self._buffer[:-kept], self._buffer[-kept:]
        return media

    def finish(self) -> None:
        """Raise BadBody unless both parts were whole."""
        if not self._ended:
            raise BadBody("the multipart body ends before its last boundary")

    def _read_head(self) -> bool:
        """Return whether all that comes before the media is there."""
        if not self._line_end:
            self._find_line_end()
        end = self._line_end
        parts = self._buffer.split(end + self._boundary, 2) if end else []
        if len(parts) == 3:
            first, second = (part.partition(end + end) for part in parts[1:])
            if first[1] and second[1]:
                self.metadata = first[2]
                self.content_type = _content_type(second[0])
                self._buffer = second[2]
                self._in_media = True
                return True
        if len(self._buffer) > _LARGEST_HEAD:
            raise BadBody(f"the metadata exceeds {_LARGEST_HEAD} bytes, or a part is missing")
        return False

    def _find_line_end(self) -> None:
        """Find how lines end, by the line of the first boundary: CRLF or, from gcloud, LF."""
        _, boundary, rest = self._buffer.partition(self._boundary)
        line, newline, _ = rest.partition(b"\n")
        if boundary and newline:
            self._line_end = b"\r\n" if line.endswith(b"\r") else b"\n"
            # So that the first delimiter, too, follows a line's end.
            self._buffer = self._line_end + self._buffer


def _content_type(headers: bytes) -> str:
    for line in headers.decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-type":
            return value.strip()
    return ""
