"""Hyperparameter tuning jobs: a study whose trials are custom jobs.

Sources: types/hyperparameter_tuning_job.py and types/study.py of the client library; Vertex AI's
page "Create a hyperparameter tuning job" (read 2026).
"""

from __future__ import annotations

import copy
import json
import math
import re
import time
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from local_cloud.engine.early_stopping import Curve, Rule
from local_cloud.engine.search import Parameter, Value
from local_cloud.engine.spec import Job, State
from local_cloud.engine.studies import Studies
from local_cloud.engine.study import Study, StudySpec, TrialJob
from local_cloud.vertex import resources
from local_cloud.vertex.errors import INVALID_ARGUMENT, ApiError
from local_cloud.vertex.launch import PRIMARY, metric_file
from local_cloud.vertex.schema import (
    HyperparameterTuningJob,
    Json,
    check_job_spec,
    checked,
    new_id,
    require,
    timestamp,
)

if TYPE_CHECKING:
    from local_cloud.vertex.jobs import Training

ALGORITHMS = {"GRID_SEARCH": "grid", "RANDOM_SEARCH": "random"}  # without one: bayesian
SCALES = {"UNIT_LOG_SCALE": "log", "UNIT_REVERSE_LOG_SCALE": "reverse log"}
MISSING = (  # fields of a StudySpec that change what happens, and are not there yet
    "convexAutomatedStoppingSpec",
    "studyStoppingConfig",
)
STOPPING = {"decayCurveStoppingSpec": "decay curve", "medianAutomatedStoppingSpec": "median"}
PARENTS = {  # what says when a parameter is there, by the kind of the one it depends on
    "whole": "parentIntValues",
    "ordered": "parentDiscreteValues",
    "unordered": "parentCategoricalValues",
}
STATES = {
    State.RUNNING: "JOB_STATE_RUNNING",
    State.STOPPING: "JOB_STATE_CANCELLING",
    State.SUCCEEDED: "JOB_STATE_SUCCEEDED",
    State.FAILED: "JOB_STATE_FAILED",
    State.STOPPED: "JOB_STATE_CANCELLED",
}


class Tuning:
    """What the service knows of its tuning jobs; a study asks it to send and to judge trials."""

    studies: Studies

    def __init__(self, training: Training) -> None:
        """training: where the trials are sent."""
        self.training = training
        self.records = training.records

    # ---- requests -------------------------------------------------------------------------------
    def create(self, parent: str, body: Json) -> Json:
        """Check, record and begin a tuning job; returns it."""
        job = checked(HyperparameterTuningJob, body, "hyperparameter_tuning_job")
        require(job.get("displayName"), "hyperparameter_tuning_job.displayName: required")
        job.pop("trials", None)
        spec = job.get("trialJobSpec", {})
        check_job_spec(spec)
        self.training.tracking.check(spec)
        spec = _study_spec(job)
        now = timestamp(time.time())
        job |= {"name": f"{parent}/hyperparameterTuningJobs/{new_id()}"}
        job |= {"createTime": now, "updateTime": now}
        with self.records.transaction():
            self.records.put("vertex", job["name"], job)
            self.studies.begin("vertex", job["name"], spec)
        return self.shown(job)

    def shown(self, job: Json) -> Json:
        """The resource with its state and its trials."""
        study = self.studies.get(job["name"])
        trials = [self._trial(job, number, trial) for number, trial in enumerate(study.trials, 1)]
        found: Json = {"state": STATES[study.state], "trials": trials}
        if not (trials or study.state.ended):
            found["state"] = "JOB_STATE_PENDING"
        if started := [trial["startTime"] for trial in trials if "startTime" in trial]:
            found["startTime"] = min(started)
        if study.ended:
            found |= dict.fromkeys(("endTime", "updateTime"), timestamp(study.ended))
        if study.state is State.FAILED:
            last = next((trial.reason for trial in reversed(study.trials) if trial.reason), "")
            message = f"{study.failed} of {len(trials)} trials failed. The last: {last}"
            found["error"] = {"code": INVALID_ARGUMENT, "message": message}
        return job | found

    def cancel(self, job: Json) -> None:
        """Stop its trials, and send no more; nothing happens to one that has ended."""
        self.studies.stop(job["name"])

    def delete(self, job: Json) -> Json:
        """Delete one that has ended; its trials' custom jobs stay."""
        name = job["name"]
        if not self.studies.get(name).state.ended:
            raise ApiError("FAILED_PRECONDITION", f"{name} is still running; cancel it first.")
        with self.records.transaction():
            self.studies.delete(name)
            return resources.deleted(self.records, name)

    def _trial(self, job: Json, number: int, trial: TrialJob) -> Json:
        """A trial, as types/study.py has it."""
        backing = self.training.engine.get(trial.job)
        state = "ACTIVE" if backing.started else "REQUESTED"
        if trial.ended:
            state = "INFEASIBLE" if trial.reason else "SUCCEEDED"
        elif backing.state is State.STOPPING:
            state = "STOPPING"
        found: Json = {
            "id": str(number),
            "state": state,
            "parameters": [
                {"parameterId": name, "value": value} for name, value in trial.values.items()
            ],
            "customJob": self.training.name_of(trial.job),
        }
        if backing.started:
            found["startTime"] = timestamp(backing.started)
        if backing.ended:
            found["endTime"] = timestamp(backing.ended)
        if trial.reason:
            found["infeasibleReason"] = trial.reason
        if trial.result is not None:
            (metric,) = job["studySpec"]["metrics"]
            measured = {"metricId": metric["metricId"], "value": trial.result}
            steps = max(
                (step for step, _ in self._reports(trial.job, metric["metricId"])), default=0
            )
            found["finalMeasurement"] = {"stepCount": str(steps), "metrics": [measured]}
        return found

    # ---- what a study asks ----------------------------------------------------------------------
    def send(self, study: Study, number: int, values: Mapping[str, Value]) -> str:
        """Queue the custom job of a trial: the job that was given, with its flags at the end."""
        job = resources.get(self.records, study.id)
        spec = copy.deepcopy(job["trialJobSpec"])
        for pool in filter(None, spec["workerPoolSpecs"]):
            code = pool.get("containerSpec") or pool["pythonPackageSpec"]
            flags = [f"--{name}={_text(value)}" for name, value in values.items()]
            code["args"] = [*code.get("args", []), *flags]
        if base := spec.get("baseOutputDirectory"):
            # "a subdirectory of name id": CustomJobSpec.base_output_directory
            base["outputUriPrefix"] = f"{base['outputUriPrefix'].rstrip('/')}/{number}"
        resource = {"displayName": f"{job['displayName']}-trial-{number}", "jobSpec": spec}
        parent = study.id.rsplit("/", 2)[0]
        return self.training.send(parent, resource, trial=number, tuning=study.id)

    def judge(self, study: Study, number: int, job: Job) -> float | str:
        """The trial's best or last report of the metric, or why there is none."""
        early = study.trials[number - 1].early
        if job.state is State.STOPPED and not early:
            return "The trial was stopped."
        if job.state is State.FAILED and job.outcome:
            return self.training.message(job, job.outcome)
        spec = resources.get(self.records, study.id)["studySpec"]
        tag = spec["metrics"][0]["metricId"]
        values = [value for _, value in self._reports(job.id, tag)]
        if not values:
            tags = sorted({name for line in self._lines(job.id) for name in line["metrics"]})
            if tag in tags:
                return f"The metric {tag} was reported, but never as a finite number."
            arrived = f"those that arrived: {', '.join(tags)}" if tags else "none arrived at all"
            return f"No metric of the tag {tag} was reported; {arrived}."
        if spec.get("measurementSelectionType") == "LAST_MEASUREMENT":
            return values[-1]
        return max(values) if study.spec.maximize else min(values)

    def reports(self, study: Study, number: int, job: Job) -> Curve:
        """What a trial has reported so far, by its steps or by the seconds it has trial."""
        spec = resources.get(self.records, study.id)["studySpec"]
        tag = spec["metrics"][0]["metricId"]
        timed = any(spec.get(field, {}).get("useElapsedDuration") for field in STOPPING)
        begun = job.attempts[-1].staged if job.attempts else job.created
        return [
            (line["time"] - begun if timed else line["step"], value)
            for line in self._lines(job.id)
            if math.isfinite(value := line["metrics"].get(tag, math.nan))
        ]

    def _reports(self, job_id: str, tag: str) -> list[tuple[int, float]]:
        """(step, value) of each report of this tag that is a number, in the order they came in."""
        found = [(line["step"], line["metrics"].get(tag, math.nan)) for line in self._lines(job_id)]
        return [(step, value) for step, value in found if math.isfinite(value)]

    def _lines(self, job_id: str) -> list[dict[str, Any]]:
        """What cloudml-hypertune has written: a line of JSON for each report, numbers as text."""
        found = []
        file = metric_file(self.training.engine.log(job_id, PRIMARY).parent, PRIMARY)
        # The trial's script may have written, or made, anything there.
        text = file.read_text(errors="replace") if file.is_file() else ""
        for line in text.splitlines():
            try:
                report = json.loads(line)
                metrics = {
                    name: _number(value)
                    for name, value in report.items()
                    if name not in ("timestamp", "trial", "global_step", "checkpoint_path")
                }
                step, seen = int(report.get("global_step", 0)), float(report.get("timestamp", 0))
                found.append({"step": step, "time": seen, "metrics": metrics})
            except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
                continue  # a line that is being written, or somebody else's
        return found


def _number(value: Any) -> float:
    """A metric's value; NaN for what is no number, or none that a float can hold."""
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return math.nan


def _text(value: Value) -> str:
    """A value as a flag's text: a whole number has no point."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _study_spec(job: Json) -> StudySpec:
    """What the study of this tuning job looks for, checked."""
    spec = job.get("studySpec", {})
    for field in MISSING:
        if field in spec:
            raise ApiError(
                "UNIMPLEMENTED", f"not implemented in the local cloud: studySpec.{field}"
            )
    metrics = spec.get("metrics", [])
    require(metrics, "studySpec.metrics: a metric is needed")
    if len(metrics) > 1:
        raise ApiError(
            "UNIMPLEMENTED",
            "not implemented in the local cloud: studySpec.metrics with several metrics",
        )
    goal = metrics[0].get("goal", "GOAL_TYPE_UNSPECIFIED")
    require(metrics[0].get("metricId"), "studySpec.metrics[0].metricId: required")
    require(goal in ("MAXIMIZE", "MINIMIZE"), "studySpec.metrics[0].goal: MAXIMIZE or MINIMIZE")
    require(spec.get("parameters"), "studySpec.parameters: a parameter is needed")
    parameters: list[Parameter] = []
    for place, parameter in enumerate(spec["parameters"]):
        _add(parameters, f"studySpec.parameters[{place}]", parameter)
    algorithm = ALGORITHMS.get(spec.get("algorithm", ""), "bayesian")
    real = [parameter.name for parameter in parameters if parameter.kind == "real"]
    require(
        algorithm != "grid" or not real, f"GRID_SEARCH: {real} have no grid; use discrete values"
    )
    most, parallel = (int(job.get(name, 0)) for name in ("maxTrialCount", "parallelTrialCount"))
    require(most >= 1, f"maxTrialCount: {most}; at least one trial is needed")
    require(parallel >= 1, f"parallelTrialCount: {parallel}; at least one trial has to run")
    # 0 leaves it to the service, which does not say how many: here, all of them.
    failures = int(job.get("maxFailedTrialCount", 0)) or most
    # The service has no seed: here a job of the same name tries the same again.
    seed = zlib.crc32(job["displayName"].encode())
    maximize = goal == "MAXIMIZE"
    given = [kind for field, kind in STOPPING.items() if field in spec]
    require(len(given) <= 1, f"studySpec: one of {', '.join(STOPPING)}, not both")
    return StudySpec(
        tuple(parameters), maximize, most, parallel, algorithm, failures, seed=seed,
        early_stopping=Rule(given[0]) if given else None,
    )  # fmt: skip


def _add(parameters: list[Parameter], where: str, spec: Json, **condition: Any) -> None:
    """Add a parameter and those that are there only with some of its values, checked."""
    name = spec.get("parameterId", "")
    require(name, f"{where}.parameterId: required")
    require(not re.search(r"\s", name), f"{where}.parameterId: {name!r} contains whitespace")
    require(name not in [one.name for one in parameters], f"{where}.parameterId: {name!r} twice")
    kinds = [kind for kind in spec if kind.endswith("ValueSpec")]
    require(
        len(kinds) == 1, f"{where}: give {name} a kind: double, integer, discrete or categorical"
    )
    values, scale = spec[kinds[0]], SCALES.get(spec.get("scaleType", ""), "linear")
    if kinds[0] in ("doubleValueSpec", "integerValueSpec"):
        kind = {"d": "real", "i": "whole"}[kinds[0][0]]
        low, high = (float(values.get(end, 0)) for end in ("minValue", "maxValue"))
        require(low <= high, f"{where}: {name}'s minValue {low:g} is above its maxValue {high:g}")
        require(
            math.isfinite(high - low),
            f"{where}: {name} has no finite range from {low:g} to {high:g}",
        )
        require(
            scale == "linear" or low > 0, f"{where}: {name} is scaled by its logarithm: from > 0"
        )
        made = Parameter(name, kind, low, high, scale=scale, **condition)
    else:
        ordered = kinds[0] == "discreteValueSpec"
        choices = values.get("values", [])
        require(choices, f"{where}: {name} has no values")
        require(len(set(choices)) == len(choices), f"{where}: {name} has a value twice")
        require(not ordered or choices == sorted(choices), f"{where}: {name}'s values must rise")
        kind = "ordered" if ordered else "unordered"
        made = Parameter(name, kind, choices=tuple(choices), **condition)
    parameters.append(made)
    for place, child in enumerate(spec.get("conditionalParameterSpecs", [])):
        below = f"{where}.conditionalParameterSpecs[{place}]"
        fitting = PARENTS.get(made.kind, "")
        require(fitting, f"{below}: {name} is a double, and those have no conditional parameters")
        when = tuple(child.get(fitting, {}).get("values", []))
        require(when, f"{below}.{fitting}: say with which values of {name} it is there")
        when = tuple(map(int, when)) if made.kind == "whole" else when
        never = [value for value in when if not _takes(made, value)]
        require(not never, f"{below}.{fitting}: {name} never has {', '.join(map(str, never))}")
        _add(parameters, below, child.get("parameterSpec", {}), parent=name, when=when)


def _takes(parameter: Parameter, value: Value) -> bool:
    """Whether a parameter that is not real can have this value."""
    if parameter.kind == "whole":
        return parameter.low <= float(value) <= parameter.high
    return value in parameter.choices
