"""Before and while a job is sent: what a job cannot read, what a stop costs, an interrupt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lesson import LessonError


def check_readable(args: Mapping[str, Any], *places: str) -> None:
    """Refuse flags that name data elsewhere than in places (beginnings) that a job can read."""
    for name in ("train", "val"):
        value = str(args.get(name, ""))
        if value and not value.startswith(places):
            raise LessonError(
                f"--{name} {value} names a file on this machine, which a job cannot read; "
                f"upload({value!r}) returns the {places[0]} URI to use instead"
            )


def check_pipeline(args: Mapping[str, Any], table: str | Path) -> None:
    """Refuse a table that is not there, and flags that the lesson's pipelines set themselves."""
    if not Path(table).is_file():
        here = Path.cwd()
        raise LessonError(f"{table}: no such file; name one that exists, seen from {here}")
    for name in ("train", "val", "model_dir"):
        if name in args:
            raise LessonError(f"the pipeline sets {name} itself; leave it out of args")


def warn_of_stops(args: Mapping[str, Any], spot: bool) -> None:
    """Say what a stop of a spot job costs that keeps no checkpoints."""
    if spot and str(args.get("checkpoint_every", 0)) in ("0", "0.0"):
        print("no checkpoint_every among args: a stop of the spot machines costs all that was done")


def interruption() -> LessonError:
    """Return what to say when nobody knows whether a job has been sent."""
    return LessonError(
        "interrupted while the job was being sent: list_jobs() shows whether it arrived, and "
        "cancel() with its name ends it"
    )


def still_runs(name: str, helpers: str) -> str:
    """Return what to say when the SDK's own wait for a job was interrupted."""
    return (
        f"interrupted: the notebook no longer waits, but the job {name} continues to run. "
        f"To cancel it: import {helpers}; {helpers}.cancel({name!r})"
    )


@contextmanager
def explain_interrupts() -> Iterator[None]:
    """Turn an interrupt into a sentence: the job may have arrived, and then it costs money."""
    try:
        yield
    except KeyboardInterrupt:
        raise interruption() from None
