"""What the store tells of buckets and objects, and the conditions that a caller may set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cloud.store.errors import PreconditionFailed

Attributes = dict[str, Any]


@dataclass(frozen=True)
class Bucket:
    """A bucket; times are seconds since the epoch, attributes are the dialect's own."""

    name: str
    created: float
    updated: float
    metageneration: int
    attributes: Attributes


@dataclass(frozen=True)
class Object:
    """An object as it was when it was asked for; times are seconds since the epoch.

    generation grows with each write of the name, metageneration with each change of content_type
    or attributes. path may become another file's; `Objects.open` gives this object's bytes.
    """

    bucket: str
    name: str
    path: Path
    inode: int
    size: int
    generation: int
    metageneration: int
    created: float
    updated: float
    md5: bytes
    crc32c: bytes
    content_type: str
    attributes: Attributes


@dataclass(frozen=True)
class Condition:
    """What must hold of the object (or bucket) that is there; None: whatever.

    generation 0 asks that there be none, generation_not 0 that there be one.
    """

    generation: int | None = None
    generation_not: int | None = None
    metageneration: int | None = None
    metageneration_not: int | None = None

    def check(self, generation: int, metageneration: int) -> None:
        """Raise PreconditionFailed unless it holds; both are 0 where there is no object."""
        pairs = (("generation", generation), ("metageneration", metageneration))
        for what, current in pairs:
            requested, excluded = getattr(self, what), getattr(self, what + "_not")
            if requested not in (None, current):
                raise PreconditionFailed(f"the {what} is {current}, and {requested} was asked for")
            if excluded == current:
                message = f"the {what} is {current}, and any other was asked for"
                raise PreconditionFailed(message, excluded=True)


ALWAYS = Condition()
