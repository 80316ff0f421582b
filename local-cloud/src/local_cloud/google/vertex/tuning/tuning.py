"""Hyperparameter tuning jobs: a study whose trials are custom jobs.

Sources: types/hyperparameter_tuning_job.py and types/study.py of the client library; Vertex AI's
page "Create a hyperparameter tuning job" (read 2026).
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping

from local_cloud.engine.spec import Job, State
from local_cloud.engine.studies.early_stopping import Curve
from local_cloud.engine.studies.search import Value
from local_cloud.engine.studies.spec import Study, StudySpec, TrialJob
from local_cloud.engine.studies.studies import Studies
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.jobs.launch import PRIMARY, metric_file
from local_cloud.google.vertex.jobs.training import DIALECT, Training
from local_cloud.google.vertex.resources import documents
from local_cloud.google.vertex.resources.errors import INVALID_ARGUMENT
from local_cloud.google.vertex.resources.request import check_job_spec
from local_cloud.google.vertex.resources.schema import (
    HyperparameterTuningJob,
    new_id,
    parse_message,
    require,
    timestamp,
)
from local_cloud.google.vertex.tuning import metrics, study_spec
from local_cloud.json_types import Json

STATES = {
    State.RUNNING: "JOB_STATE_RUNNING",
    State.STOPPING: "JOB_STATE_CANCELLING",
    State.SUCCEEDED: "JOB_STATE_SUCCEEDED",
    State.FAILED: "JOB_STATE_FAILED",
    State.STOPPED: "JOB_STATE_CANCELLED",
}


class Tuning:
    """What the service knows of its tuning jobs; a study asks it to send and to judge trials."""

    def __init__(self, training: Training, studies: Studies) -> None:
        """training: where the trials are sent; studies: where they are run."""
        self.training = training
        self.studies = studies
        self.records = training.records

    # ---- requests -------------------------------------------------------------------------------
    def check(self, parent: str, body: Json) -> tuple[Json, StudySpec]:
        """Return a tuning job as it is recorded, and its study; or refuse. Works in a thread."""
        job = parse_message(HyperparameterTuningJob, body, "hyperparameter_tuning_job")
        require(job.get("displayName"), "hyperparameter_tuning_job.displayName: required")
        job.pop("trials", None)
        spec = job.get("trialJobSpec", {})
        check_job_spec(spec)
        self.training.tracking.check(spec)
        wanted = study_spec.of(job)
        now = timestamp(time.time())
        job |= {"name": f"{parent}/hyperparameterTuningJobs/{new_id()}"}
        job |= {"createTime": now, "updateTime": now}
        return job, wanted

    def submit(self, checked: tuple[Json, StudySpec]) -> Json:
        """Record and begin a tuning job as check() returned it; returns the resource."""
        job, wanted = checked
        with self.records.transaction():
            self.records.put("vertex", job["name"], job)
            self.studies.submit(DIALECT, job["name"], wanted)
        return self.render(job)

    def render(self, job: Json) -> Json:
        """Return the resource with its state and its trials."""
        study = self.studies.get(job["name"])
        trials = [self._trial(job, number, trial) for number, trial in enumerate(study.trials, 1)]
        standing: Json = {"state": STATES[study.state], "trials": trials}
        if not (trials or study.state.ended):
            standing["state"] = "JOB_STATE_PENDING"
        if started := [trial["startTime"] for trial in trials if "startTime" in trial]:
            standing["startTime"] = min(started)
        if study.ended:
            standing |= dict.fromkeys(("endTime", "updateTime"), timestamp(study.ended))
        if study.state is State.FAILED:
            last = next((trial.reason for trial in reversed(study.trials) if trial.reason), "")
            message = f"{study.failed_count} of {len(trials)} trials failed. The last: {last}"
            standing["error"] = {"code": INVALID_ARGUMENT, "message": message}
        return job | standing

    def cancel(self, job: Json) -> None:
        """Stop its trials, and send no more; nothing happens to one that has ended."""
        self.studies.stop(job["name"])

    def delete(self, job: Json) -> None:
        """Delete one that has ended; its trials' custom jobs stay."""
        name = job["name"]
        if not self.studies.get(name).state.ended:
            raise ApiError("FAILED_PRECONDITION", f"{name} is still running; cancel it first.")
        with self.records.transaction():
            self.studies.delete(name)
            self.records.delete("vertex", name)

    def _trial(self, job: Json, number: int, trial: TrialJob) -> Json:
        """Return a trial, as types/study.py has it."""
        backing = self.training.engine.get(trial.job)
        state = "ACTIVE" if backing.started else "REQUESTED"
        if trial.ended:
            state = "INFEASIBLE" if trial.reason else "SUCCEEDED"
        elif backing.state is State.STOPPING:
            state = "STOPPING"
        rendered: Json = {
            "id": str(number),
            "state": state,
            "parameters": [
                {"parameterId": name, "value": value} for name, value in trial.values.items()
            ],
            "customJob": self.training.name_of(trial.job),
        }
        if backing.started:
            rendered["startTime"] = timestamp(backing.started)
        if backing.ended:
            rendered["endTime"] = timestamp(backing.ended)
        if trial.reason:
            rendered["infeasibleReason"] = trial.reason
        if trial.result is not None:
            (metric,) = job["studySpec"]["metrics"]
            measured = {"metricId": metric["metricId"], "value": trial.result}
            steps = max(
                (step for step, _ in self._reports(trial.job, metric["metricId"])), default=0
            )
            rendered["finalMeasurement"] = {"stepCount": str(steps), "metrics": [measured]}
        return rendered

    # ---- what a study asks ----------------------------------------------------------------------
    def send(self, study: Study, number: int, values: Mapping[str, Value]) -> str:
        """Queue the custom job of a trial: the job that was given, with its flags at the end."""
        job = documents.get(self.records, study.id)
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
        """Return the trial's best or last report of the metric, or why there is none."""
        early = study.trials[number - 1].early
        if job.state is State.STOPPED and not early:
            return "The trial was stopped."
        if job.state is State.FAILED and job.outcome:
            return self.training.message(job, job.outcome)
        spec = documents.get(self.records, study.id)["studySpec"]
        tag = spec["metrics"][0]["metricId"]
        reported: dict[str, list[float]] = {}
        for line in self._lines(job.id):
            for name, value in line.metrics.items():
                reported.setdefault(name, []).append(value)
        failures = self.training.engine.failures
        reported = failures.rename_metric(study.id, reported, metric=tag, another=f"{tag}_2")
        values = [value for value in reported.get(tag, []) if math.isfinite(value)]
        if not values:
            if tag in reported:
                return f"The metric {tag} was reported, but never as a finite number."
            arrived = f"those that arrived: {', '.join(sorted(reported))}"
            arrived = arrived if reported else "none arrived at all"
            return f"No metric of the tag {tag} was reported; {arrived}."
        if spec.get("measurementSelectionType") == "BEST_MEASUREMENT":
            return max(values) if study.spec.maximize else min(values)
        return values[-1]  # what an unspecified type means, too

    def reports(self, study: Study, number: int, job: Job) -> Curve:
        """Return what a trial has reported so far, by its steps or by the seconds it has run."""
        spec = documents.get(self.records, study.id)["studySpec"]
        tag = spec["metrics"][0]["metricId"]
        timed = any(spec.get(field, {}).get("useElapsedDuration") for field in study_spec.STOPPING)
        begun = job.attempts[-1].staged if job.attempts else job.created
        return [
            (line.time - begun if timed else line.step, value)
            for line in self._lines(job.id)
            if math.isfinite(value := line.metrics.get(tag, math.nan))
        ]

    def _reports(self, job_id: str, tag: str) -> list[tuple[int, float]]:
        """(step, value) of each report of this tag that is a number, in the order they came in."""
        reports = [(line.step, line.metrics.get(tag, math.nan)) for line in self._lines(job_id)]
        return [(step, value) for step, value in reports if math.isfinite(value)]

    def _lines(self, job_id: str) -> list[metrics.Report]:
        file = metric_file(self.training.engine.log(job_id, PRIMARY).parent, PRIMARY)
        return metrics.reports(file, self.training.engine.hidden)


def _text(value: Value) -> str:
    """Return a value as a flag's text: a whole number has no point."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)
