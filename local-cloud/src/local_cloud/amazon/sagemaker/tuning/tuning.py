"""Hyperparameter tuning jobs: a study whose trials are training jobs.

Sources: botocore's model and the API reference; "Automatic model tuning" in the developer guide
(read 2026).
"""

from __future__ import annotations

import copy
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.algorithms import xgboost_launch
from local_cloud.amazon.sagemaker.jobs import metrics, status
from local_cloud.amazon.sagemaker.jobs.failure_reason import MOST
from local_cloud.amazon.sagemaker.jobs.training import DIALECT, TUNING, Training
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import check, invalid
from local_cloud.amazon.sagemaker.tuning import study_spec, warm_start
from local_cloud.engine.spec import Job, State
from local_cloud.engine.studies.early_stopping import Curve
from local_cloud.engine.studies.search import Value
from local_cloud.engine.studies.spec import Study, StudySpec, TrialJob
from local_cloud.engine.studies.studies import Studies
from local_cloud.json_types import Json
from local_cloud.store import readable

RESOURCES = "HyperParameterTuningResourceConfig"
MOST_HYPERPARAMETERS = 100  # "Define hyperparameter ranges" in the developer guide (read 2026)
OBJECTIVE = "_tuning_objective_metric"  # the hyperparameter that names the metric
STATUS = {
    State.RUNNING: "InProgress",
    State.STOPPING: "Stopping",
    State.SUCCEEDED: "Completed",
    State.FAILED: "Failed",
    State.STOPPED: "Stopped",
}
# What a tuning job would mean something else without: refused by name.
MISSING = {
    "": ("TrainingJobDefinitions", "Autotune"),
    "TrainingJobDefinition.": ("TuningObjective", "HyperParameterRanges"),
}


class Tuning:
    """What the service knows of its tuning jobs; a study asks it to send and to judge trials."""

    def __init__(self, training: Training, studies: Studies) -> None:
        """training: where the trials are sent; studies: where they are run."""
        self.training = training
        self.studies = studies
        self.records = training.records

    # ---- requests -------------------------------------------------------------------------------
    def create(self, params: Json) -> Json:
        """CreateHyperParameterTuningJob: check, record and begin it."""
        params = {name: value for name, value in params.items() if value is not None}
        name = params["HyperParameterTuningJobName"]
        definition = params.get("TrainingJobDefinition") or {}
        xgboost_launch.add_metrics(definition, definition.get("StaticHyperParameters") or {})
        _check(params)
        spec = study_spec.of(name, params["HyperParameterTuningJobConfig"], _static(params))
        _check_hyperparameters(params, [parameter.name for parameter in spec.parameters])
        spec = self._warm_start(spec, params)
        check(_trial_request(params, "a-trial", {}), self.training.objects)
        if self.records.get(TUNING, name):
            raise ServiceError(
                "ResourceInUse",
                "Hyperparameter tuning job names must be unique within an AWS account and region,"
                f" and a tuning job with this name already exists ({_arn(name)})",
            )
        with self.records.transaction():
            self.records.put(TUNING, name, params)
            self.training.tags.create(_arn(name), params.get("Tags", []))
            self.studies.submit(DIALECT, name, spec)
        return {"HyperParameterTuningJobArn": _arn(name)}

    def describe(self, params: Json) -> Json:
        """DescribeHyperParameterTuningJob: what was asked for, and where it stands."""
        study = self._study(params)
        request = self._request_of(study.id)
        answer = {name: value for name, value in request.items() if name != "Tags"}
        answer |= self._common_fields(study)
        definition = copy.deepcopy(request["TrainingJobDefinition"])
        definition["StaticHyperParameters"] = _static(request)
        answer["TrainingJobDefinition"] = definition
        if study.best:
            answer["BestTrainingJob"] = self._summary(study, study.best)
        answer |= self._overall(study, request)
        if study.ended:
            seconds = int(study.ended - study.created)
            answer["ConsumedResources"] = {"RuntimeInSeconds": seconds}
        if study.state is State.FAILED:
            answer["FailureReason"] = _failure(study)
        return answer

    def list(self, params: Json) -> Json:
        """ListHyperParameterTuningJobs: by name, unless the request says otherwise."""
        name, word = "HyperParameterTuningJobName", "HyperParameterTuningJobStatus"
        listed = listing.select(self._summaries(), params, name=name, status=word)
        fields = {"Name": name, "Status": word, "CreationTime": "CreationTime"}
        listed = listing.sort(listed, {"SortBy": "Name"} | params, fields, default="Ascending")
        return listing.page(listed, params, "HyperParameterTuningJobSummaries")

    def _summaries(self) -> Iterator[Json]:
        studies = ((study.id, study) for study in self.studies.all() if study.cloud == DIALECT)
        return readable.each(TUNING, studies, lambda _, study: self._summary_of(study))

    def _summary_of(self, study: Study) -> Json:
        config = self._request_of(study.id)["HyperParameterTuningJobConfig"]
        limits = {name: config[name] for name in ("Strategy", "ResourceLimits")}
        return self._common_fields(study) | limits

    def trials(self, params: Json) -> Json:
        """ListTrainingJobsForHyperParameterTuningJob: by name, unless the request has an order."""
        study = self._study(params)
        wanted = params.get("StatusEquals")
        listed = [self._summary(study, trial) for trial in study.trials]
        listed = [one for one in listed if wanted in (None, one["TrainingJobStatus"])]
        final = "FinalHyperParameterTuningJobObjectiveMetric"
        if params.get("SortBy") == "FinalObjectiveMetricValue":  # then those without are not listed
            listed = [one | {"value": one[final]["Value"]} for one in listed if final in one]
        fields = {
            "Name": "TrainingJobName",
            "CreationTime": "CreationTime",
            "Status": "TrainingJobStatus",
            "FinalObjectiveMetricValue": "value",
        }
        listed = listing.sort(listed, {"SortBy": "Name"} | params, fields, default="Ascending")
        for one in listed:
            one.pop("value", None)
        return listing.page(listed, params, "TrainingJobSummaries")

    def best_first(self, params: Json) -> Json:
        """ListTrainingJobsForHyperParameterTuningJob by the objective: the best trial is first."""
        goal = self._objective(params["HyperParameterTuningJobName"])["Type"]
        return self.trials(
            {"SortOrder": "Descending" if goal == "Maximize" else "Ascending"} | params
        )

    def stop(self, params: Json) -> Json:
        """StopHyperParameterTuningJob: stop its training jobs, and send no more."""
        study = self._study(params)
        if study.state.ended:
            raise invalid(
                "The request was rejected because the hyperparameter tuning job is in status"
                f" {STATUS[study.state]}."
            )
        self.studies.stop(study.id)
        return {}

    def delete(self, params: Json) -> Json:
        """DeleteHyperParameterTuningJob: forget one that has ended; its training jobs stay."""
        study = self._study(params)
        if not study.state.ended:
            raise ServiceError(
                "ResourceInUse",
                f"The tuning job {study.id} is in status {STATUS[study.state]}; stop it first.",
            )
        with self.records.transaction():
            self.records.delete(TUNING, study.id)
            self.training.tags.forget(_arn(study.id))
            self.studies.delete(study.id)
        return {}

    def _warm_start(self, spec: StudySpec, params: Json) -> StudySpec:
        """Return the spec with what its parents have found, if it has any."""
        if not (start := params.get("WarmStartConfig")):
            return spec
        parents = [
            (self._request_of(name), self.studies.get(name)) for name in warm_start.parents(start)
        ]
        return warm_start.add_parents(spec, params, parents)

    def _overall(self, study: Study, request: Json) -> Json:
        """OverallBestTrainingJob of a tuning job and of its parents, as far as they are there."""
        if (
            not (start := request.get("WarmStartConfig"))
            or start["WarmStartType"] != warm_start.SAME
        ):
            return {}
        there = [name for name in warm_start.parents(start) if self.records.get(TUNING, name)]
        every = [study, *map(self.studies.get, there)]
        candidates = [(one, one.best) for one in every if one.best]
        sign = -1 if study.spec.maximize else 1
        whose, best = min(
            candidates, key=lambda pair: sign * (pair[1].result or 0), default=(None, None)
        )
        if not (whose and best):
            return {}
        return {"OverallBestTrainingJob": self._summary(whose, best) | {"TuningJobName": whose.id}}

    def _request_of(self, name: str) -> Json:
        request = self.records.get(TUNING, name)
        if request is None:
            raise ServiceError(
                "ResourceNotFound", f"Amazon SageMaker can't find a tuning job with name {name}"
            )
        return request

    def _study(self, params: Json) -> Study:
        name = params["HyperParameterTuningJobName"]
        self._request_of(name)
        return self.studies.get(name)

    def _common_fields(self, study: Study) -> Json:
        """Return what describing and listing have in common."""
        jobs = [self.training.engine.get(trial.job) for trial in study.trials]
        states = Counter(status.status(job) for job in jobs)
        times = [study.created, *(job.ended or job.started or job.created for job in jobs)]
        fields: Json = {
            "HyperParameterTuningJobName": study.id,
            "HyperParameterTuningJobArn": _arn(study.id),
            "HyperParameterTuningJobStatus": STATUS[study.state],
            "CreationTime": study.created,
            "LastModifiedTime": study.ended or max(times),
            "TrainingJobStatusCounters": {
                "Completed": states["Completed"],
                "InProgress": states["InProgress"] + states["Stopping"],
                "RetryableError": 0,
                "NonRetryableError": states["Failed"],
                "Stopped": states["Stopped"],
            },
            "ObjectiveStatusCounters": {
                "Succeeded": sum(trial.result is not None for trial in study.trials),
                "Pending": sum(not trial.ended for trial in study.trials),
                "Failed": study.failed_count,
            },
        }
        return fields | ({"HyperParameterTuningEndTime": study.ended} if study.ended else {})

    def _summary(self, study: Study, trial: TrialJob) -> Json:
        """Return a trial, as HyperParameterTrainingJobSummary has it."""
        job = self.training.describe({"TrainingJobName": trial.job})
        given = ("TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "CreationTime")
        times = ("TrainingStartTime", "TrainingEndTime")
        summary: Json = {field: job[field] for field in given}
        summary |= {field: job[field] for field in times if field in job}
        summary["TunedHyperParameters"] = _texts(trial.values)
        summary["ObjectiveStatus"] = "Failed" if trial.reason else "Pending"
        if trial.reason:
            summary["FailureReason"] = trial.reason
        if trial.result is not None:
            goal = self._objective(study.id)
            summary["ObjectiveStatus"] = "Succeeded"
            summary["FinalHyperParameterTuningJobObjectiveMetric"] = goal | {"Value": trial.result}
        return summary

    def _objective(self, name: str) -> Json:
        config = self._request_of(name)["HyperParameterTuningJobConfig"]
        objective: Json = config["HyperParameterTuningJobObjective"]
        return objective

    # ---- what a study asks ----------------------------------------------------------------------
    def send(self, study: Study, number: int, values: Mapping[str, Value]) -> str:
        """Queue the training job of a trial: the definition, with its values."""
        name = f"{study.id}-{number:03}-{secrets.token_hex(4)}"
        request = self._request_of(study.id)
        wanted = _trial_request(request, name, _texts(values))
        self.training.queue(wanted, request.get("Tags", []), tuning=_arn(study.id))
        return name

    def reports(self, study: Study, number: int, job: Job) -> Curve:
        """Return the values of the objective metric so far: each counts as an epoch.

        They are read where most of them are: an instance's log, for not every one writes them.
        """
        definition = self._request_of(study.id)["TrainingJobDefinition"]
        metric = self._objective(study.id)["MetricName"]
        defined = definition["AlgorithmSpecification"]["MetricDefinitions"]
        regex = next(one["Regex"] for one in defined if one["Name"] == metric)
        logs = self.training.engine.logs(job.id).values()
        try:
            values_by_log = [metrics.values(regex, log, metrics.SECONDS) for log in logs]
        except metrics.TooSlow:  # which the job's end will tell
            return []
        most = max(values_by_log, key=lambda one: len(one), default=[])
        return [(float(epoch), value) for epoch, value in enumerate(most, 1)]

    def judge(self, study: Study, number: int, job: Job) -> float | str:
        """Return the last value of the objective metric in the trial's log, or why it has none."""
        described = self.training.describe({"TrainingJobName": job.id})
        if described["TrainingJobStatus"] == "Failed":
            return str(described["FailureReason"])
        metric = self._objective(study.id)["MetricName"]
        values = {
            one["MetricName"]: one["Value"] for one in described.get("FinalMetricDataList", [])
        }
        failures = self.training.engine.failures
        values = failures.rename_metric(study.id, values, metric=metric, another=f"{metric}-2")
        if metric in values:
            return float(values[metric])
        others = f"those that did: {', '.join(values)}" if values else "no metric did"
        stopped = "was stopped and " if described["TrainingJobStatus"] == "Stopped" else ""
        return (
            f"The training job {stopped}did not write the objective metric {metric} to its log, as"
            f" its regular expression has it; {others}."
        )[:MOST]


def _arn(name: str) -> str:
    return arn(f"hyper-parameter-tuning-job/{name}")


def _texts(values: Mapping[str, Value]) -> dict[str, str]:
    return {name: study_spec.text(value) for name, value in values.items()}


def _static(request: Json) -> dict[str, str]:
    """Return the hyperparameters that all trials share."""
    objective = request["HyperParameterTuningJobConfig"]["HyperParameterTuningJobObjective"]
    given: Json = request["TrainingJobDefinition"].get("StaticHyperParameters") or {}
    return {**given, OBJECTIVE: objective["MetricName"]}


def _trial_request(request: Json, name: str, tuned: Mapping[str, str]) -> Json:
    """Return the request for the training job of a trial.

    Its checkpoints have a folder of their own.
    """
    definition: Json = copy.deepcopy(request["TrainingJobDefinition"])
    definition.pop("DefinitionName", None)
    definition.pop("StaticHyperParameters", None)
    if resources := definition.pop(RESOURCES, None):  # the SDK's version 2 sends these instead
        resources.pop("AllocationStrategy", None)  # says which of several InstanceConfigs is first
        definition["ResourceConfig"] = resources
    if checkpoints := definition.get("CheckpointConfig"):
        checkpoints["S3Uri"] = f"{checkpoints['S3Uri'].rstrip('/')}/{name}"
    return definition | {"TrainingJobName": name, "HyperParameters": {**_static(request), **tuned}}


def _check(params: Json) -> None:
    """Raise ServiceError for what the service, or this local cloud, does not take."""
    definition = params.get("TrainingJobDefinition") or {}
    for where, fields in MISSING.items():
        for field in fields:
            if (definition if where else params).get(field):
                raise not_implemented(f"{where}{field}")
    resources = definition.get(RESOURCES) or {}
    if resources.get("InstanceConfigs"):
        raise not_implemented(f"TrainingJobDefinition.{RESOURCES}.InstanceConfigs")
    if resources and definition.get("ResourceConfig"):
        raise invalid(f"ResourceConfig and {RESOURCES} are both given: give one of them")
    if not definition:
        raise invalid("TrainingJobDefinition is required: it says what each training job runs")
    objective = params["HyperParameterTuningJobConfig"].get("HyperParameterTuningJobObjective")
    if not objective:
        raise invalid("HyperParameterTuningJobObjective is required: name the metric and the goal")
    defined = definition["AlgorithmSpecification"].get("MetricDefinitions") or []
    names = [metric["Name"] for metric in defined]
    if objective["MetricName"] not in names:
        # The first two sentences were observed: aws/amazon-sagemaker-examples#1207 (2020).
        raise invalid(
            "A metric is required for this hyperparameter tuning job objective. Provide a metric in"
            " the metric definitions."
            f" The objective metric {objective['MetricName']} is not among the MetricDefinitions"
            f" ({', '.join(names) or 'there are none'}): define it there, with its Regex"
        )


def _check_hyperparameters(params: Json, tuned: list[str]) -> None:
    static = _static(params)
    if both := sorted(set(tuned) & static.keys()):
        raise invalid(
            f"The hyperparameters {', '.join(both)} are both static and tuned: each is one of them"
        )
    if len(tuned) + len(static) > MOST_HYPERPARAMETERS:
        raise invalid(
            f"The job has {len(tuned) + len(static)} hyperparameters, static and tuned ones and"
            f" {OBJECTIVE}: there can be {MOST_HYPERPARAMETERS}"
        )


def _failure(study: Study) -> str:
    """Return why a tuning job has failed, in the service's words, then the last trial's reason."""
    last = next((trial.reason for trial in reversed(study.trials) if trial.reason), "")
    if any(trial.without_metric for trial in study.trials):
        words = (
            f"No objective metrics found after running {study.failed_count} training jobs. Please"
            " ensure that the custom algorithm is emitting the objective metric as defined by the"
            " regular expression provided."
        )
    else:
        words = "All training jobs failed. The last one: "
    return f"{words.strip()} {last}".strip()[:MOST]
