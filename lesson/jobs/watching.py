"""Show how far a job is: a cloud's verbs look at it, and give what they see to these functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from lesson import LessonError, target
from lesson.jobs.spec import Epoch, JobSpec, JobStatus, epochs_of
from lesson.money.costs import Estimate, PriceUnknown
from lesson.show.progress import Display, Progress

T = TypeVar("T")

# Seconds between two looks at a job; the local cloud answers when there is news.
PAUSE = {"local": 0.1, "cloud": 2.0}
NEWEST = 100  # jobs that list_jobs() shows
SEEN = 1000  # jobs among which it looks for the session's; on SageMaker each costs a request


def pause() -> None:
    """Let some time go by between two looks at a job."""
    time.sleep(PAUSE[target()])


def follow(
    spec: JobSpec,
    looks: Iterable[tuple[JobStatus, Epoch | None]],
    estimate: Callable[[float], Estimate],
) -> int:
    """Show each look at a job until there are no more; return how often it was interrupted.

    `estimate` returns what the job's machines cost for so many hours. A KeyboardInterrupt ends the
    watching, not the job: LessonError says so.
    """

    def watch(display: Display) -> int:
        interruptions = 0
        curve: dict[int, float] = {}
        for now, epoch in looks:
            if epoch:
                curve[epoch.number] = epoch.loss
            shown = progress(spec, now, epoch, dollars=cost(estimate, now.times.machine_seconds()))
            display.show(replace(shown, curve=sorted(curve.items())))
            interruptions = now.interruptions
        return interruptions

    return watch_in_place(spec.name, watch)


def progress(
    spec: JobSpec, now: JobStatus, epoch: Epoch | None, *, dollars: float | None
) -> Progress:
    """Return what is shown of a job: its state, its newest epoch, its time and what it costs."""
    return Progress(
        state=now.state,
        service_state=now.word,
        epoch=epoch.number if epoch else None,
        epochs=epochs_of(spec.flags),
        loss=epoch.loss if epoch else None,
        accuracy=epoch.accuracy if epoch else None,
        seconds=now.times.seconds(),
        cost=dollars,
        interruptions=now.interruptions,
    )


def cost(estimate: Callable[[float], Estimate], *seconds: float) -> float | None:
    """Return US dollars for jobs that took so long, at list price; None if no price is known."""
    try:
        return sum(estimate(each / 3600).usd for each in seconds)
    except PriceUnknown:  # train() has said so
        return None


def watch_in_place(name: str, watch: Callable[[Display], T]) -> T:
    """Watch a job until it ends; an interrupt ends the watching, not the job, and says so."""
    display = Display()
    try:
        return watch(display)
    except KeyboardInterrupt:
        raise LessonError(
            f"no longer watching, but {name} goes on: wait({name!r}) watches it again, "
            f"cancel({name!r}) ends it"
        ) from None
    finally:
        display.close()
