"""Delete a list of things, or only say what would be deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lesson import LessonError


@dataclass(frozen=True)
class Thing:
    """Something that can be deleted."""

    name: str
    delete: Callable[[], Any]


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
