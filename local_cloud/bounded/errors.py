"""What the bounded readers raise. The message goes on after "Cannot be shown: "."""

from __future__ import annotations

from local_cloud.errors import LocalCloudError


class CannotRead(LocalCloudError):
    """Something cannot be read within the limits."""


class OverLimit(CannotRead):
    """It is larger than a limit, or takes longer than one."""


class Damaged(CannotRead):
    """It does not hold what it should."""


class ReaderEnded(CannotRead):
    """The process that read it has ended for another reason than a limit."""


def size(count: int) -> str:
    """A limit's number of bytes, in words."""
    if count >= 1 << 30:
        return f"{count / (1 << 30):.3g} GiB"
    return f"{count / (1 << 20):.3g} MiB" if count >= 1 << 20 else f"{count / (1 << 10):.3g} KiB"
