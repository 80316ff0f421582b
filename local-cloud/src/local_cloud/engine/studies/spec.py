"""The words of studies: what one looks for, its trials, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from local_cloud.engine.spec import State
from local_cloud.engine.studies.early_stopping import Curve, Other, Rule
from local_cloud.engine.studies.search import Parameter, Trial, Value


@dataclass(frozen=True)
class StudySpec:
    """What a study looks for, and when it ends."""

    parameters: tuple[Parameter, ...]
    maximize: bool
    max_trials: int  # a grid may have fewer
    parallel_trials: int = 1
    algorithm: str = "bayesian"
    max_failed_trials: int | None = None  # so many end the study; None: however many fail
    # So many whose jobs succeeded without reporting the metric end it, unless one reported it.
    max_without_metric: int | None = None
    seed: int = 0
    seconds: float | None = None  # after so many it is stopped
    early_stopping: Rule | None = None  # when a trial is stopped early; None: none is
    earlier: tuple[Trial, ...] = ()  # of other studies, known before this one begins
    alike: bool = True  # the earlier ones' results can be compared with this study's

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> StudySpec:
        """Read the specification of a document."""
        document = _rename_fields(document)
        parameters = (
            Parameter(**one | {name: tuple(one[name]) for name in ("choices", "when")})
            for one in document["parameters"]
        )
        rule = document.get("early_stopping")
        facts = {
            "parameters": tuple(parameters),
            "early_stopping": rule and Rule(**rule),
            "earlier": tuple(
                Trial(**trial | {"others": tuple(trial.get("others", ()))})
                for trial in document.get("earlier", ())
            ),
        }
        return cls(**{**document, **facts})


@dataclass(frozen=True)
class TrialJob:
    """One trial of a study, and the job that it is."""

    job: str
    values: Mapping[str, Value]
    result: float | None = None
    reason: str = ""  # why it ended without a result
    without_metric: bool = False  # its job succeeded and did not report the metric
    early: bool = False  # it was stopped before its time
    curve: Curve = ()  # what it had reported at its end, if others are stopped early

    @property
    def ended(self) -> bool:
        """Return whether it is known what came of it."""
        return self.result is not None or bool(self.reason)

    def for_search(self) -> Trial:
        """Return what a search needs to know of it."""
        return Trial(self.values, self.result, failed=bool(self.reason))

    def other(self, place: int) -> Other:
        """Return what the decision to stop another one early needs to know of it."""
        return Other(place, self.curve, self.ended, None if self.early else self.result)


@dataclass(frozen=True)
class Study:
    """A study as it stands; times are seconds since the epoch."""

    id: str
    cloud: str
    spec: StudySpec
    state: State  # RUNNING, STOPPING, or how it ended
    created: float
    ended: float | None = None
    trials: tuple[TrialJob, ...] = ()  # in the order in which they were sent

    @property
    def failed_count(self) -> int:
        """Return how many trials ended without a result."""
        return sum(bool(trial.reason) for trial in self.trials)

    @property
    def hopeless(self) -> bool:
        """Return whether too many trials ended without a result for the study to go on."""
        spec = self.spec
        if spec.max_failed_trials is not None and self.failed_count >= spec.max_failed_trials:
            return True
        most, without_metric = (
            spec.max_without_metric,
            sum(trial.without_metric for trial in self.trials),
        )
        return most is not None and without_metric >= most and self.best is None

    @property
    def best(self) -> TrialJob | None:
        """Return the trial with the best result, the first of equals."""
        done = [trial for trial in self.trials if trial.result is not None]
        sign = -1 if self.spec.maximize else 1
        return min(done, key=lambda trial: sign * (trial.result or 0.0), default=None)

    def document(self) -> dict[str, Any]:
        """Return the study as JSON can hold it, without its trials."""
        document = asdict(replace(self, trials=()))
        del document["trials"]
        return document

    @classmethod
    def of(cls, document: Mapping[str, Any], trials: Sequence[Mapping[str, Any]]) -> Study:
        """Read the study of a document and of those of its trials."""
        document = _rename_fields(document)
        facts = {"spec": StudySpec.of(document["spec"]), "state": State(document["state"])}
        return cls(**{**document, **facts, "trials": tuple(map(_trial, trials))})


# Names in records that an earlier version has written: a server that could not read them would not
# start.
EARLIER = {
    "aim": "spec",
    "trials": "max_trials",
    "at_once": "parallel_trials",
    "failures": "max_failed_trials",
    "silent": "max_without_metric",
    "stopping": "early_stopping",
}


def _rename_fields(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with today's names."""
    return {EARLIER.get(name, name): value for name, value in document.items()}


def _trial(document: Mapping[str, Any]) -> TrialJob:
    """Read the trial of a document."""
    document = dict(document)
    document["without_metric"] = document.pop("silent", document.get("without_metric", False))
    curve = tuple((step, value) for step, value in document.get("curve", ()))
    return TrialJob(**{**document, "curve": curve})
