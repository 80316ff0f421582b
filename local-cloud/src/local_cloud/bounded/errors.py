"""The errors of the bounded readers. A message follows "Cannot be shown: " on a page."""

from __future__ import annotations

from local_cloud.errors import LocalCloudError


class CannotRead(LocalCloudError):
    """Something cannot be read within the limits."""


class OverLimit(CannotRead):
    """It is larger than a limit, or takes longer than one."""


class DamagedFile(CannotRead):
    """Its content is not what its kind of file should hold."""


class ReaderEnded(CannotRead):
    """The process that read it has ended, and not because of a limit."""


def size(count: int) -> str:
    """Return a number of bytes in words."""
    if count >= 1 << 30:
        return f"{count / (1 << 30):.3g} GiB"
    return f"{count / (1 << 20):.3g} MiB" if count >= 1 << 20 else f"{count / (1 << 10):.3g} KiB"
