"""A body of type multipart/related (RFC 2387), metadata and media, read as it comes."""

from __future__ import annotations

from email.message import Message

from local_cloud.gcs.errors import invalid

_LARGEST_HEAD = 1 << 20  # bytes: the metadata and both parts' headers


class Related:
    """Feed it the body; it gives the media's bytes and keeps the rest."""

    def __init__(self, content_type: str) -> None:
        """content_type: of the whole body."""
        header = Message()
        header["content-type"] = content_type
        boundary = header.get_param("boundary")
        if header.get_content_type() != "multipart/related" or not isinstance(boundary, str):
            raise invalid("multipart/related with a boundary is needed as the body's type")
        self._delimiter = b"\r\n--" + boundary.encode()
        self._buffer = b"\r\n"  # so that the first delimiter, too, follows a line's end
        self._in_media = self._ended = False
        self.metadata = b""
        self.content_type = ""

    def feed(self, data: bytes) -> bytes:
        """The media's bytes, as far as they are known to be media."""
        self._buffer += data
        if not self._in_media and not self._read_head():
            return b""
        if self._ended:
            return b""
        media, delimiter, _ = self._buffer.partition(self._delimiter)
        if delimiter:
            self._ended, self._buffer = True, b""
            return media
        kept = len(self._delimiter) - 1  # may be the beginning of the delimiter
        media, self._buffer = self._buffer[:-kept], self._buffer[-kept:]
        return media

    def finish(self) -> None:
        """Raises Refusal unless both parts were whole."""
        if not self._ended:
            raise invalid("the multipart body ends before its last boundary")

    def _read_head(self) -> bool:
        """Whether all that comes before the media is there."""
        parts = self._buffer.split(self._delimiter, 2)
        if len(parts) == 3:
            first, second = (part.partition(b"\r\n\r\n") for part in parts[1:])
            if first[1] and second[1]:
                self.metadata = first[2]
                self.content_type = _content_type(second[0])
                self._buffer = second[2]
                self._in_media = True
                return True
        if len(self._buffer) > _LARGEST_HEAD:
            raise invalid(f"the metadata exceeds {_LARGEST_HEAD} bytes, or a part is missing")
        return False


def _content_type(headers: bytes) -> str:
    for line in headers.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-type":
            return value.strip()
    return ""
