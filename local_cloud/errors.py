"""The one family of exceptions that users see."""

from __future__ import annotations


class LocalCloudError(Exception):
    """Something the user can fix; the message says what happened, where and what to do next."""

    def _render_traceback_(self) -> list[str]:
        """Show one sentence in a notebook instead of a traceback, which would hide it."""
        return [f"{type(self).__name__}: {self}"]
