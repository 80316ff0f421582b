"""Delete what the lesson made on a cloud, or only say what would be deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lesson import LessonError
from lesson.jobs.spec import JobSpec
from lesson.jobs.states import ENDED
from lesson.machines import vm


@dataclass(frozen=True)
class Thing:
    """Something that can be deleted."""

    name: str
    delete: Callable[[], Any]


@dataclass(frozen=True)
class Job:
    """A job of the lesson's, as cleanup() sees it."""

    spec: JobSpec
    state: str
    delete: Callable[[], Any]


@dataclass(frozen=True)
class Bucket:
    """The session's bucket, as cleanup() sees it."""

    uri: str
    there: bool
    ours: bool  # whether connect() made it
    objects: Callable[[str], Thing | None]  # those with a prefix; None if there are none
    delete: Callable[[], Any]

    def holds(self, uri: str) -> bool:
        """Tell whether a URI is in this bucket."""
        return f"{uri}/".startswith(f"{self.uri}/")

    def things(self, written: Iterable[str]) -> Iterator[Thing]:
        """Yield what goes: of a bucket of ours everything and the bucket, else what was written."""
        if not self.there:
            return
        prefixes = (uri.removeprefix(f"{self.uri}/") for uri in written if self.holds(uri))
        for prefix in [""] if self.ours else filter(None, prefixes):
            if objects := self.objects(prefix):
                yield objects
        if self.ours:
            yield Thing(f"bucket {self.uri}", self.delete)


def cleanup(bucket: Bucket, jobs: Sequence[Job], others: Iterable[Thing], *, dry_run: bool) -> None:
    """Name what the lesson made, and unless dry_run delete it.

    `jobs` are the lesson's; those of others in the account stay. Raises LessonError, and deletes
    nothing, while one of them runs.
    """
    refuse([job.spec.name for job in jobs if job.state not in ENDED])
    written = [uri for job in jobs for uri in job.spec.written]
    written.append(f"{bucket.uri}/runs/{vm.PREFIX}")
    named = [Thing(f"job {job.spec.name} ({job.state})", job.delete) for job in jobs]
    things = [*bucket.things(written), *named, *others]
    delete(things, dry_run)
    if bucket.there and not bucket.ours:
        print(f"{bucket.uri} was there before connect(): it stays, and so do your uploads")
    say_what_is_left(things, dry_run)


def refuse(running: Sequence[str]) -> None:
    """Raise LessonError if there are jobs that run, by their names."""
    if running:
        raise LessonError(
            f"{', '.join(running)}: not ended yet; cancel({running[0]!r}) and then "
            f"wait({running[0]!r}), before you clean up"
        )


def delete(things: Sequence[Thing], dry_run: bool) -> None:
    """Name each thing, and unless dry_run delete it."""
    for thing in things:
        print(("would delete " if dry_run else "deleting ") + thing.name, flush=True)
        if not dry_run:
            thing.delete()


def say_what_is_left(things: Sequence[Thing], dry_run: bool) -> None:
    """Say that there was nothing, or that it is still there."""
    if not things:
        print("nothing is left of the lesson here")
    elif dry_run:
        print("nothing was deleted; cleanup(dry_run=False) deletes all of the above")
