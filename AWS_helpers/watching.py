"""Watch a job to its end, and bring home what it made."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from AWS_helpers import looking
from AWS_helpers.costs import estimate_cost
from AWS_helpers.looking import EPOCH, Asked, Log
from AWS_helpers.session import connected, refusals
from AWS_helpers.storage import fetch
from lesson import LessonError, jobs, target
from lesson.costs import PriceUnknown
from lesson.progress import Display, Progress
from lesson.runs import Run
from lesson.states import CANCELLED, ENDED, SUCCEEDED
from lesson.this_machine import new_folder

if TYPE_CHECKING:
    from sagemaker.core.resources import TrainingJob

PAUSE = {"local": 0.1, "cloud": 2.0}  # seconds between two looks at a job
PLACE = {"local": "SageMaker (local cloud)", "cloud": "SageMaker"}


def run_of(job: TrainingJob, request: Mapping[str, Any]) -> Run:
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


def follow(job: TrainingJob, run: Run) -> Run:
    """Show how far a job is until it ends, and complete its row."""
    name = job.training_job_name
    with refusals(f"watching {name}"):
        jobs.follow(name, lambda display: _watch(job, display))
    return complete(job, run)


def _watch(job: TrainingJob, display: Display) -> None:
    """Look at a job and its log until it has ended; the log is read last, to be whole."""
    what, log = looking.asked(job), Log(job.training_job_name)
    epoch: tuple[str, ...] = ()
    while True:
        looking.refresh(job)
        ended = looking.state(job) in ENDED
        epoch = _last_epoch(log.news()) or epoch
        display.show(_progress(job, what, epoch))
        if ended:
            return
        time.sleep(PAUSE[target()])


def _last_epoch(lines: list[str]) -> tuple[str, ...]:
    """Number, validation loss and accuracy of the last epoch that the lines tell of."""
    found = [match.groups() for line in lines if (match := EPOCH.match(line))]
    return found[-1] if found else ()


def _progress(job: TrainingJob, what: Asked, epoch: tuple[str, ...]) -> Progress:
    """How far a job is: its last epoch is read from its log."""
    when = looking.times(job)
    return Progress(
        state=looking.state(job),
        service_state=looking.word(job),
        epoch=int(epoch[0]) if epoch else None,
        epochs=jobs.epochs_of(what.flags),
        loss=float(epoch[1]) if epoch else None,
        accuracy=float(epoch[2]) if epoch else None,
        seconds=when.seconds(),
        cost=cost_of(what, when.running()),
        interruptions=looking.interruptions(job),
    )


def complete(job: TrainingJob, run: Run) -> Run:
    """The row of a job that has ended; raises LessonError if it failed."""
    when, state, name = looking.times(job), looking.state(job), job.training_job_name
    cost = cost_of(looking.asked(job), when.running())
    run = replace(run, seconds=when.seconds(), queued=when.queued(), cost=cost)
    run = replace(run, interruptions=looking.interruptions(job))
    if state == CANCELLED:
        print(f"{name} was cancelled ({looking.word(job)}); its results are not fetched")
        return run
    if state != SUCCEEDED:
        with refusals(f"reading how {name} ended"):
            raise LessonError(f"{name} {state}. {looking.why(job)}")
    return jobs.with_results(run, name, when, fetch(run.artefacts, new_folder("sagemaker")))


def cost_of(what: Asked, seconds: float) -> float | None:
    """US dollars for so many seconds of a job's machines at list price; None if none is known."""
    try:
        made = estimate_cost(
            what.machine,
            replicas=what.replicas,
            hours=seconds / 3600,
            region=connected().region,
        )
    except PriceUnknown:  # train() has said so
        return None
    return made.usd
