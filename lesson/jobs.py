"""What a job is on any cloud: what may be sent, the facts about it, the row that it becomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from lesson import LessonError
from lesson.progress import Display
from lesson.runs import Run, read_metrics

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
IGNORED = "ignored, not flags of this script: "  # so train_nn.py says of a mistyped flag


def check_readable(args: Mapping[str, Any], *places: str) -> None:
    """Refuse flags that name data elsewhere than in places (beginnings) that a job can read."""
    for name in ("train", "val"):
        value = str(args.get(name, ""))
        if value and not value.startswith(places):
            raise LessonError(
                f"--{name} {value} names a file on this machine, which a job cannot read; "
                f"upload({value!r}) returns the {places[0]} URI to use instead"
            )


def warn_of_stops(args: Mapping[str, Any], spot: bool) -> None:
    """Say what a stop of a spot job costs that keeps no checkpoints."""
    if spot and str(args.get("checkpoint_every", 0)) in ("0", "0.0"):
        print("no checkpoint_every among args: a stop of the spot machines costs all that was done")


def job_in(run_or_job: Any) -> Any:
    """Return the SDK's object of a run or a study; anything else, such as a name, unchanged."""
    from lesson.studies import Study  # which, as the next, uses this module
    from lesson.vm import Rented

    if not isinstance(run_or_job, Run | Study):
        return run_or_job
    if isinstance(run_or_job.job, Rented):
        raise LessonError(f"{run_or_job.job.machine.name} is a machine, not a job")
    if run_or_job.job is None:
        raise LessonError(f"the run on {run_or_job.place} was no job; there is nothing to ask")
    return run_or_job.job


def not_a_job(thing: Any) -> LessonError:
    """Return what to say of something that is neither a run nor a job."""
    return LessonError(
        f"{thing!r} is no job: give what train() or tune() returned, or a job's name"
    )


def interrupted() -> LessonError:
    """Return what to say when nobody knows whether a job has been sent."""
    return LessonError(
        "interrupted while the job was being sent: list_jobs() shows whether it arrived, and "
        "cancel() with its name ends it"
    )


def no_such_job(name: str) -> LessonError:
    """Return what to say of a name that no job has."""
    return LessonError(f"there is no job {name}; list_jobs() shows the names of all")


def still_runs(name: str, helpers: str) -> str:
    """Return what to say when the SDK's own wait for a job was interrupted."""
    return (
        f"interrupted: the notebook no longer waits, but the job {name} continues to run. "
        f"To cancel it: import {helpers}; {helpers}.cancel({name!r})"
    )


@contextmanager
def sending() -> Iterator[None]:
    """Turn an interrupt into a sentence: the job may have arrived, and then it costs money."""
    try:
        yield
    except KeyboardInterrupt:
        raise interrupted() from None


@dataclass(frozen=True)
class Times:
    """When a job was made, when its machines started, and when it ended."""

    created: datetime
    started: datetime | None
    ended: datetime | None

    def seconds(self) -> float:
        """Return the seconds from its making to its end, or until now."""
        return _between(self.created, self.ended)

    def queued(self) -> float:
        """Return the seconds until the machines started, or ended without, or until now."""
        return _between(self.created, self.started or self.ended)

    def running(self) -> float:
        """Return the seconds of the machines so far."""
        return _between(self.started, self.ended) if self.started else 0.0


def _between(begin: datetime, end: datetime | None) -> float:
    return max(0.0, ((end or datetime.now(UTC)) - begin).total_seconds())


@dataclass(frozen=True)
class JobSpec:
    """What a job was asked to do; of a tuning job, what each of its trials was."""

    name: str
    machine: str
    replicas: int
    spot: bool
    flags: Mapping[str, str]
    base: str  # the URI below which jobs write; empty where none was given
    output: str  # the URI of the results; empty where there is none
    gpu: str | None = None
    gpu_count: int = 0  # to each replica
    written: tuple[str, ...] = ()  # the URIs of what the job has left in buckets, and of its code

    def __str__(self) -> str:
        """Name the machine in a few words, as the run table shows it."""
        gpu = f" + {self.gpu_count} × {self.gpu}" if self.gpu else ""
        return self.machine + gpu + (", spot" if self.spot else "")


@dataclass(frozen=True)
class JobStatus:
    """How far a job is, as last seen."""

    state: str  # one of lesson.states
    service_state: str  # the service's own word, as list_jobs() shows it
    word: str  # the service's most exact word, as the progress of a job shows it
    times: Times
    interruptions: int = 0
    trials: int | None = None  # how many a tuning job has sent; None for any other job


class Epoch(NamedTuple):
    """The newest epoch of a training, with its numbers on the validation rows."""

    number: int
    loss: float
    accuracy: float


_EPOCH = re.compile(r"epoch +(\d+) .*validation loss (\S+) +accuracy (\S+)")


def epoch_of(line: str) -> Epoch | None:
    """Return the epoch that a line of train_nn.py's log tells of; None if it is another line."""
    if match := _EPOCH.match(line):
        number, loss, accuracy = match.groups()
        return Epoch(int(number), float(loss), float(accuracy))
    return None


def follow(name: str, watch: Callable[[Display], T]) -> T:
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


def epochs_of(flags: Mapping[str, str]) -> int | None:
    """Return how many epochs a job was told to train; None if that is not a number."""
    try:
        return int(float(flags["epochs"]))
    except (KeyError, ValueError, OverflowError):
        return None


def with_results(run: Run, name: str, when: Times, copy: Path) -> Run:
    """Return the row of a job that succeeded, with what the copy of its results says."""
    if not (copy / "metrics.json").exists():
        print(f"{name} left no metrics.json; what it left is in {copy}")
        return replace(run, copy=copy)
    metrics = read_metrics(copy)
    log = copy / "training.log"
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        if line.startswith(IGNORED):
            print(line)
    training = metrics["seconds"]["training"]
    return replace(
        run,
        starting=max(0.0, when.running() - training),
        training=training,
        accuracy=metrics["accuracy"],
        loss=metrics["loss"],
        interruptions=max(run.interruptions, len(metrics.get("epochs", {}).get("resumed", ()))),
        copy=copy,
    )


def row_of(spec: JobSpec, now: JobStatus) -> Sequence[Any]:
    """Return a job's row in the list of jobs, from the facts about it."""
    machine = str(spec) if now.trials is None else f"{now.trials} trials on {spec}"
    return row(spec.name, (now.state, now.service_state), now.times, spec.replicas, machine)


def row(
    name: str, state: tuple[str, str], when: Times, replicas: int, machine: str
) -> Sequence[Any]:
    """Return a job's row in the list of jobs; `state` is ours, and then the service's own word."""
    created = when.created.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return name, *state, created, round(when.seconds(), 1), replicas, machine


def table(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Return the list of jobs."""
    import pandas as pd

    columns = ["name", "state", "service_state", "created", "seconds", "replicas", "machine"]
    return pd.DataFrame(rows, columns=columns)
