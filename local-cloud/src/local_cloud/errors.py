"""The one family of exceptions that users see."""

from __future__ import annotations

LONGEST = 10_000  # characters of a message, which may repeat a megabyte that a client or a job sent


class LocalCloudError(Exception):
    """Something the user can fix; the message says what happened, where and what to do next."""

    def __init__(self, *said: object) -> None:
        """said: the message; of one that is very long, beginning and end are kept."""
        super().__init__(*(shorten(each) if isinstance(each, str) else each for each in said))

    def _render_traceback_(self) -> list[str]:
        """Show one sentence in a notebook instead of a traceback, which would hide it."""
        return [f"{type(self).__name__}: {self}"]


def shorten(message: str) -> str:
    """Return the message, or its beginning and its end if it is very long."""
    if len(message) <= LONGEST:
        return message
    return f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
