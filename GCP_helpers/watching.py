"""Watch a job to its end, and bring home what it made."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from GCP_helpers import looking
from GCP_helpers.costs import estimate_cost
from GCP_helpers.looking import Asked
from GCP_helpers.session import connected, refusals
from GCP_helpers.storage import fetch, read_text
from lesson import LessonError, jobs, target
from lesson.costs import PriceUnknown
from lesson.progress import Display, Progress
from lesson.runs import Run
from lesson.states import CANCELLED, ENDED, RUNNING, STARTING, SUCCEEDED
from lesson.this_machine import new_folder

if TYPE_CHECKING:
    from GCP_helpers.looking import Job

# Seconds between two looks at a job; the local cloud answers a look only when there is news.
PAUSE = {"local": 0.05, "cloud": 2.0}
PLACE = {"local": "Vertex AI (local cloud)", "cloud": "Vertex AI"}


def run_of(job: Job, request: Mapping[str, Any]) -> Run:
    """The row of a job that has not ended."""
    what = looking.asked(job)
    return Run(
        place=PLACE[target()],
        machine=str(what),
        seconds=None,
        accuracy=None,
        loss=None,
        artefacts=what.output,
        replicas=what.replicas,
        job=job,
        request=request,
    )


class Stops:
    """Counts how often a job that ran had to wait for machines again: the service does not say.

    It says when a job first ran: one that waits and has that time was stopped, perhaps unseen.
    """

    def __init__(self) -> None:
        """None so far."""
        self.count = 0
        self._ran = False

    def seen(self, state: str, started: bool = False) -> int:
        """How many there were, now that the job was seen in this state; started: it has run."""
        unseen = started and not self.count
        self.count += state == STARTING and (self._ran or unseen)
        self._ran = state == RUNNING or (self._ran and state != STARTING)
        return self.count


def follow(job: Job, run: Run) -> Run:
    """Show how far a job is until it ends, and complete its row."""
    stops = Stops()
    with refusals(f"watching {job.display_name}"):
        jobs.follow(job.display_name, lambda display: _watch(job, display, stops))
    return complete(job, replace(run, interruptions=max(run.interruptions, stops.count)))


def _watch(job: Job, display: Display, stops: Stops) -> None:
    """Look at a job until it has ended, first at the machines and then at the pipeline."""
    what = looking.asked(job)
    state, word = looking.state(job), looking.word(job)
    display.show(Progress(state, seconds=looking.times(job).seconds(), service_state=word))
    machines = looking.behind(job)
    while machines is None and _now(job) not in ENDED:
        time.sleep(PAUSE[target()])
        display.show(_progress(job, what, stops))
        machines = looking.behind(job)
    for each in (machines or job, job):
        while _now(each) not in ENDED:
            display.show(_progress(machines or job, what, stops))
            time.sleep(PAUSE[target()])
    display.show(_progress(machines or job, what, stops))


def _now(job: Job) -> str:
    looking.refresh(job)
    return looking.state(job)


def _progress(machines: Job, what: Asked, stops: Stops) -> Progress:
    """How far a job is: its last epoch is read from the results that it is writing."""
    when = looking.times(machines)
    history = read_text(what.output + "history.csv") if when.started and what.base else None
    last = looking.last_row(history or "")
    return Progress(
        state=looking.state(machines),
        service_state=looking.word(machines),
        epoch=int(last["epoch"]) if last else None,
        epochs=jobs.epochs_of(what.flags),
        loss=float(last["val_loss"]) if last else None,
        accuracy=float(last["val_accuracy"]) if last else None,
        seconds=when.seconds(),
        cost=cost_of(what, when.running()),
        interruptions=stops.seen(looking.state(machines), bool(when.started)),
    )


def complete(job: Job, run: Run) -> Run:
    """The row of a job that has ended; raises LessonError if it failed."""
    with refusals(f"reading how {job.display_name} ended"):
        machines = looking.behind(job) or job
    when, state = looking.times(machines), looking.state(job)
    cost = cost_of(looking.asked(job), when.running())
    run = replace(run, seconds=when.seconds(), queued=when.queued(), cost=cost)
    if state == CANCELLED:
        print(f"{job.display_name} was cancelled; its results are not fetched")
        return run
    if state != SUCCEEDED:
        raise LessonError(f"{job.display_name} {state}. {looking.why(machines)}")
    if not run.artefacts:
        return run
    copy = fetch(run.artefacts, new_folder("vertex-ai"))
    return jobs.with_results(run, job.display_name, when, copy)


def cost_of(what: Asked, seconds: float) -> float | None:
    """US dollars for so many seconds of a job's machines at list price; None if none is known."""
    try:
        made = estimate_cost(
            what.machine,
            what.gpu,
            what.replicas,
            hours=seconds / 3600,
            gpu_count=what.gpu_count or 1,
            region=connected().region,
        )
    except PriceUnknown:  # train() has said so
        return None
    return made.usd
