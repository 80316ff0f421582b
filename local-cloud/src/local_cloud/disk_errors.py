"""What the disk refuses, in a sentence with the next step. Standard library only."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator

from local_cloud.errors import LocalCloudError

ADVICE = {
    errno.EROFS: "mount that disk for writing",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some of your space on that disk",
}
OTHERWISE = "check that you may read and write there"
SHOWN = 200  # characters of a path; the end says more than the beginning


def say(problem: Exception, otherwise: str = "") -> str:
    """Return what a problem of the disk is, where, and the next step; of another one its own words.

    otherwise: the next step where the cause tells of none; SQLite's words are a sentence with it.
    """
    if isinstance(problem, OSError) and problem.strerror:
        where = str(problem.filename or "the disk")
        where = where if len(where) <= SHOWN else f"…{where[-SHOWN:]}"
        step = ADVICE.get(problem.errno or 0, otherwise or OTHERWISE)
        return f"the local cloud cannot use {where} ({problem.strerror}): {step}"
    if otherwise and isinstance(problem, sqlite3.OperationalError):
        return f"the local cloud cannot use its records ({problem}): {otherwise}"
    return str(problem)


def disk_error(problem: Exception) -> LocalCloudError:
    """Return the error of a local cloud whose folder cannot be used."""
    step = f"{OTHERWISE}, or name another folder in LOCAL_CLOUD_HOME"
    return LocalCloudError(say(problem, step))


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Raise LocalCloudError where the disk refuses something."""
    try:
        yield
    except OSError as problem:
        raise disk_error(problem) from None
