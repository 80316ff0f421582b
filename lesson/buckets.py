"""Which bucket a notebook works in."""

from __future__ import annotations

import os
import re

from lesson import LessonError, target

LOCAL = "lesson"  # under the local cloud, where nobody has to choose


def bucket_name(named: str | None, scheme: str, allowed: re.Pattern[str]) -> str:
    """Return the name of the bucket: as named, else that of LESSON_BUCKET, else the local cloud's.

    `scheme`, gs:// or s3://, may stand before it. Raises LessonError for a name that the service
    does not allow, and where none is known.
    """
    found = named or os.environ.get("LESSON_BUCKET")
    if not found and target() == "local":
        found = LOCAL
    if not found:
        raise LessonError(
            "no bucket is known; choose a name that nobody else has, such as yourname-lesson: "
            "connect(bucket=...), or set LESSON_BUCKET"
        )
    name = found.removeprefix(scheme).rstrip("/")
    if not allowed.fullmatch(name):
        raise LessonError(
            f"bucket {name}: no bucket can have this name; choose one of 3 to 63 small letters, "
            "digits and hyphens, such as maria-lesson"
        )
    return name
