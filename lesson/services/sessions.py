"""What connect() settles on any cloud, what it refuses, and what it says."""

from __future__ import annotations

import getpass
import os
import re
from datetime import datetime
from typing import Protocol, TypeVar

from lesson import LessonError, target

LOCAL = "lesson"  # under the local cloud, where nobody has to choose
MARK = "made_by_lesson"  # the label or tag of all that the helpers make, so that cleanup finds it


class Session(Protocol):
    """What every session has."""

    @property
    def target(self) -> str:
        """Return the target that was in force."""

    @property
    def region(self) -> str:
        """Return the region."""

    @property
    def uri(self) -> str:
        """Return the bucket's URI."""


S = TypeVar("S", bound=Session)


def learner() -> str:
    """Return the name that goes into the names of jobs, so that people who share an account differ.

    It is that of LESSON_NAME, else "me" under the local cloud, which nobody shares, else the user's
    on this machine; at most eight small letters and digits, because a study's name is short.
    """
    user = "me" if target() == "local" else getpass.getuser()
    named = os.environ.get("LESSON_NAME") or user
    return re.sub(r"[^a-z0-9]", "", named.lower())[:8] or "me"


def new_name(verb: str) -> str:
    """Return a name for what a verb sends, by the learner and the time: no two are the same."""
    return f"{verb}-nn-{learner()}-{datetime.now():%Y%m%d-%H%M%S-%f}"


def require(session: S | None) -> S:
    """Return the session that connect() made; raise LessonError before that."""
    if session is None:
        raise LessonError("not connected yet; call connect() first")
    if session.target != target():
        raise LessonError(
            f"connected to {session.target}, but LESSON_TARGET is now {target()}; "
            "restart the kernel and call connect() again"
        )
    return session


def activate(variable: str) -> None:
    """Start the local cloud under the target local; else refuse a process that points at it.

    `variable` is the environment variable by which the cloud's SDK is pointed at the local cloud.
    """
    if target() == "local":
        import local_cloud

        local_cloud.activate()
    elif os.environ.get(variable):
        raise LessonError(
            f"this process is still pointed at the local cloud ({variable} is set); "
            "unset it, restart the kernel with LESSON_TARGET=cloud and call connect() again"
        )


def no_answer(what: str, company: str) -> LessonError:
    """Return what to say when nobody answers."""
    who, advice = {
        "local": ("the local cloud", "connect() starts it again, with all that it had"),
        "cloud": (company, "look at your network, and try again"),
    }[target()]
    return LessonError(f"{what}: {who} does not answer; {advice}")


def in_words(session: Session, identity: str, company: str) -> str:
    """Return what connect() says; `identity` is the project or the role."""
    meaning = {
        "local": "nothing leaves this machine, so"
        f" links to {company}'s console lead to the local cloud's",
        "cloud": "jobs use your account, and cost money",
    }[session.target]
    return f"{session.target}: {identity}, region {session.region}, bucket {session.uri}; {meaning}"


def bucket_name(named: str | None, scheme: str, allowed: re.Pattern[str]) -> str:
    """Return the name of the bucket: as named, else that of LESSON_BUCKET, else the local cloud's.

    `scheme`, gs:// or s3://, may stand before it. Raises LessonError for a name that the service
    does not allow, and where none is known.
    """
    bucket = named or os.environ.get("LESSON_BUCKET")
    if not bucket and target() == "local":
        bucket = LOCAL
    if not bucket:
        raise LessonError(
            "no bucket is known; choose a name that nobody else has, such as yourname-lesson: "
            "connect(bucket=...), or set LESSON_BUCKET"
        )
    name = bucket.removeprefix(scheme).rstrip("/")
    if not allowed.fullmatch(name):
        raise LessonError(
            f"bucket {name}: no bucket can have this name; choose one of 3 to 63 small letters, "
            "digits and hyphens, such as maria-lesson"
        )
    return name
