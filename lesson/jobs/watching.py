"""Show how far a job is: a cloud's verbs look at it, and give what they see to these functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from lesson import LessonError, target
from lesson.jobs.epochs import Epoch
from lesson.jobs.spec import JobSpec, JobStatus, epochs_of
from lesson.jobs.states import STARTING
from lesson.money.costs import Estimate, PriceUnknown
from lesson.show.progress import Display, Progress

# Seconds between two looks at a job; the local cloud answers when there is news.
PAUSE = {"local": 0.1, "cloud": 2.0}


def pause() -> None:
    """Let some time go by between two looks at a job."""
    time.sleep(PAUSE[target()])


def follow(
    display: Display,
    spec: JobSpec,
    looks: Iterable[tuple[JobStatus, Sequence[Epoch]]],
    *,
    estimate: Callable[[float], Estimate],
) -> Progress:
    """Show each look at a job until there are no more; return what was shown last.

    `looks` has all epochs that are known at each look. `estimate` returns what the job's machines
    cost for so many hours.
    """
    shown = Progress(STARTING)
    for now, epochs in looks:
        dollars = cost(estimate, now.times.machine_seconds())
        shown = progress(spec, now, dollars).with_epochs(epochs)
        display.show(shown)
    return shown


def progress(spec: JobSpec, now: JobStatus, dollars: float | None) -> Progress:
    """Return what is shown of a job but its epochs: its state, its time and what it costs."""
    return Progress(
        state=now.state,
        service_state=now.word,
        epochs=epochs_of(spec.flags),
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


@contextmanager
def in_place(name: str) -> Iterator[Display]:
    """Yield what a job is shown on; an interrupt ends the watching, not the job, and says so."""
    display = Display()
    try:
        yield display
    except KeyboardInterrupt:
        raise LessonError(
            f"no longer watching, but {name} goes on: wait({name!r}) watches it again, "
            f"cancel({name!r}) ends it"
        ) from None
    finally:
        display.close()
