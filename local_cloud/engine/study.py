"""The words of studies: what one looks for, its trials, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from local_cloud.engine.search import Parameter, Trial, Value
from local_cloud.engine.spec import Job, State
from local_cloud.engine.stopping import Curve, Other, Rule


@dataclass(frozen=True)
class Aim:
    """What a study looks for, and when it ends."""

    parameters: tuple[Parameter, ...]
    maximize: bool
    trials: int  # at most; a grid may have fewer
    at_once: int = 1
    algorithm: str = "bayesian"
    failures: int | None = None  # so many failed trials end the study; None: none do
    silent: int | None = None  # so many without a result, before there is any, end it, too
    seed: int = 0
    seconds: float | None = None  # after so many it is stopped
    stopping: Rule | None = None  # when a trial is stopped early; None: none is
    earlier: tuple[Trial, ...] = ()  # of other studies, known before this one begins
    alike: bool = True  # the earlier ones' results can be compared with this study's

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Aim:
        """The aim of a document."""
        parameters = (
            Parameter(**one | {name: tuple(one[name]) for name in ("choices", "when")})
            for one in document["parameters"]
        )
        rule = document.get("stopping")
        facts = {
            "parameters": tuple(parameters),
            "stopping": rule and Rule(**rule),
            "earlier": tuple(Trial(**trial) for trial in document.get("earlier", ())),
        }
        return cls(**{**document, **facts})


@dataclass(frozen=True)
class TrialJob:
    """One trial of a study, and the job that it is."""

    job: str
    values: Mapping[str, Value]
    result: float | None = None
    reason: str = ""  # why it ended without a result
    silent: bool = False  # without a result, though its job has succeeded
    early: bool = False  # it was stopped before its time
    curve: Curve = ()  # what it had reported at its end, if others are stopped early

    @property
    def ended(self) -> bool:
        """Whether it is known what came of it."""
        return self.result is not None or bool(self.reason)

    def trial(self) -> Trial:
        """What a search needs to know of it."""
        return Trial(self.values, self.result, failed=bool(self.reason))

    def other(self, place: int) -> Other:
        """What the decision to stop another one early needs to know of it."""
        return Other(place, self.curve, self.ended, None if self.early else self.result)


@dataclass(frozen=True)
class Study:
    """A study as it stands; times are seconds since the epoch."""

    id: str
    cloud: str
    aim: Aim
    state: State  # RUNNING, STOPPING, or how it ended
    created: float
    ended: float | None = None
    runs: tuple[TrialJob, ...] = ()  # in the order in which they were sent

    @property
    def failed(self) -> int:
        """How many trials ended without a result."""
        return sum(bool(run.reason) for run in self.runs)

    @property
    def hopeless(self) -> bool:
        """Whether too many trials ended without a result for the study to go on."""
        aim = self.aim
        if aim.failures is not None and self.failed >= aim.failures:
            return True
        silent = sum(run.silent for run in self.runs)
        return aim.silent is not None and silent >= aim.silent and self.best is None

    @property
    def best(self) -> TrialJob | None:
        """The trial with the best result, the first of equals."""
        done = [run for run in self.runs if run.result is not None]
        sign = -1 if self.aim.maximize else 1
        return min(done, key=lambda run: sign * (run.result or 0.0), default=None)

    def document(self) -> dict[str, Any]:
        """The study as JSON can hold it, without its trials."""
        document = asdict(replace(self, runs=()))
        del document["runs"]
        return document

    @classmethod
    def of(cls, document: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Study:
        """The study of a document and of those of its trials."""
        facts = {"aim": Aim.of(document["aim"]), "state": State(document["state"])}
        return cls(**{**document, **facts, "runs": tuple(map(_run, runs))})


def _run(document: Mapping[str, Any]) -> TrialJob:
    """The trial of a document."""
    curve = tuple((step, value) for step, value in document.get("curve", ()))
    return TrialJob(**{**document, "curve": curve})


class Cloud(Protocol):
    """What a study asks of a cloud."""

    def send(self, study: Study, number: int, values: Mapping[str, Value]) -> str:
        """Queue the job of a trial, the first of which has number 1; returns the job's id."""

    def judge(self, study: Study, number: int, job: Job) -> float | str:
        """The result of a trial whose job has ended, or why there is none; called in a thread."""

    def reports(self, study: Study, number: int, job: Job) -> Curve:
        """What a trial has reported so far, as (step, value); called in a thread."""
