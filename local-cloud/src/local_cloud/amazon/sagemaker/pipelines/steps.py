"""What each kind of pipeline step starts: a call of this service, like any client's.

Sources: the developer guide's pages "Pipelines steps" and "Default cache key attributes by
pipeline step type" (read 2026).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.protocols.model import check, service_model
from local_cloud.amazon.sagemaker.jobs.training import TUNING, Training
from local_cloud.amazon.sagemaker.models.models import Models
from local_cloud.amazon.sagemaker.models.registry import GROUP, GROUP_NAME, ModelRegistry
from local_cloud.amazon.sagemaker.pipelines.values import ValueProblem, as_text
from local_cloud.amazon.sagemaker.processing.jobs import Processing
from local_cloud.amazon.sagemaker.tuning.tuning import Tuning
from local_cloud.engine.spec import Job
from local_cloud.json_types import Json

OPERATIONS = {
    "Training": "CreateTrainingJob",
    "Tuning": "CreateHyperParameterTuningJob",
    "Processing": "CreateProcessingJob",
    "Model": "CreateModel",
    "RegisterModel": "CreateModelPackage",
}
NAMES = {
    "Training": "TrainingJobName",
    "Tuning": "HyperParameterTuningJobName",
    "Processing": "ProcessingJobName",
    "Model": "ModelName",
}
# The arguments that have to be the same for a result to be used again; others may differ.
SAME = {
    "Training": (
        "AlgorithmSpecification",
        "CheckpointConfig",
        "DebugHookConfig",
        "Environment",
        "DebugRuleConfigurations",
        "HyperParameters",
        "InputDataConfig",
    ),
    "Tuning": (
        "HyperParameterTuningJobConfig",
        "TrainingJobDefinition.AlgorithmSpecification",
        "TrainingJobDefinition.InputDataConfig",
        "TrainingJobDefinition.StaticHyperParameters",
    ),
    "Processing": ("AppSpecification", "Environment", "ProcessingInputs"),
}
LONGEST_NAME = 63  # characters of a job's or a model's name
LONGEST_NAME_OF_TUNING = 32
BEST_TRIALS = 50  # of a tuning job that other steps may refer to


@dataclass(frozen=True)
class Standing:
    """Where the job of a step stands."""

    status: str  # a job's: InProgress, Stopping, Completed, Failed, Stopped
    properties: Json  # what other steps may refer to
    reason: str  # of a failure
    lost: bool  # whether the server's own end cut it off


class StepKinds:
    """The kinds of steps that call the service."""

    def __init__(
        self,
        training: Training,
        tuning: Tuning,
        processing: Processing,
        *,
        models: Models,
        registry: ModelRegistry,
    ) -> None:
        """Keep what makes what the steps ask for."""
        self.training, self.tuning, self.processing = training, tuning, processing
        self.models, self.registry = models, registry

    def request(self, kind: str, arguments: Json, name: str, *, tags: list[Json]) -> Json:
        """Return the call's request: the resolved arguments with a name, checked as a client's."""
        operation = service_model("sagemaker").operation_model(OPERATIONS[kind])
        request: Json = fit_to_shape(arguments, operation.input_shape)
        if field := NAMES.get(kind):
            request |= {field: name}
        if kind != "RegisterModel":  # a version has its group's tags
            request["Tags"] = [*(request.get("Tags") or []), *tags]
        check(operation, request)
        return request

    def begin(self, kind: str, request: Json, token: str) -> Json:
        """Make the call and return the step's Metadata; the same call again changes nothing."""
        name = request.get(NAMES.get(kind, ""), "")
        if kind == "Training":
            if not self.training.records.get("training-job", name):
                self.training.create(request)
            return {"TrainingJob": {"Arn": self.describe(kind, name)["TrainingJobArn"]}}
        if kind == "Tuning":
            if not self.tuning.records.get(TUNING, name):
                self.tuning.create(request)
            return {"TuningJob": {"Arn": self.describe(kind, name)["HyperParameterTuningJobArn"]}}
        if kind == "Processing":
            if not self.processing.records.get("processing-job", name):
                self.processing.create(request)
            return {"ProcessingJob": {"Arn": self.describe(kind, name)["ProcessingJobArn"]}}
        if kind == "Model":
            if not self.models.records.get("sagemaker-model", name):
                self.models.create(request)
            return {"Model": {"Arn": self.describe(kind, name)["ModelArn"]}}
        group = request.get(GROUP_NAME)
        if group and not self.registry.records.get(GROUP, group.rpartition("/")[2]):
            self.registry.create_group({GROUP_NAME: group})
        made = self.registry.create(request | {"ClientToken": token})
        return {"RegisterModel": {"Arn": made["ModelPackageArn"]}}

    def describe(self, kind: str, name: str) -> Json:
        """Return what the step has made, as the service describes it: the step's properties."""
        if kind == "Training":
            return self.training.describe({"TrainingJobName": name})
        if kind == "Tuning":
            best = {"SortBy": "FinalObjectiveMetricValue", "MaxResults": BEST_TRIALS}
            named = {"HyperParameterTuningJobName": name}
            return self.tuning.describe(named) | {
                "TrainingJobSummaries": self.tuning.best_first(named | best)["TrainingJobSummaries"]
            }
        if kind == "Processing":
            return self.processing.describe({"ProcessingJobName": name})
        if kind == "Model":
            return self.models.describe({"ModelName": name})
        return self.registry.describe({"ModelPackageName": name})

    def job(self, kind: str, name: str) -> Job:
        """Return the engine's job of a step."""
        return self.processing.job(name) if kind == "Processing" else self.training.engine.get(name)

    async def wait_for_end(self, kind: str, name: str) -> None:
        """Wait until the job of a step, or its tuning job, has ended."""
        if kind == "Tuning":
            studies = self.tuning.studies
            study = studies.get(name)
            while not study.state.ended:
                study = await studies.wait_for_change(study, 3600)
            return
        job = self.job(kind, name)
        while not job.state.ended:
            job = await self.training.engine.wait_for_change(job, 3600)

    def standing(self, kind: str, name: str) -> Standing:
        """Return where the job of a step stands."""
        if kind == "Tuning":
            described = self.describe(kind, name)
            state, reason = (
                described["HyperParameterTuningJobStatus"],
                described.get("FailureReason", ""),
            )
            return Standing(state, described, reason, lost=False)  # a study goes on after a restart
        job, described = self.job(kind, name), self.describe(kind, name)
        return Standing(
            described[f"{kind}JobStatus"],
            described,
            described.get("FailureReason", ""),
            lost=bool(job.outcome and job.outcome.reason == "lost"),
        )

    def stop(self, kind: str, name: str) -> None:
        """Stop the job of a step; one that has ended stays as it is."""
        if kind == "Tuning":
            self.tuning.studies.stop(name)
            return
        self.training.engine.stop(self.job(kind, name).id)


def job_name(
    chosen: Any, execution: str, step: str, *, attempt: int, longest: int = LONGEST_NAME
) -> str:
    """Return the name of what a step makes: always the same for the same attempt.

    A step that an earlier server began finds what it has made by this name. chosen: the name in its
    arguments, or None. Raises ValueProblem for one that is no text.
    """
    if chosen is not None and not isinstance(chosen, str):
        raise ValueProblem(f"the name of what the step {step} makes is {chosen!r}, not a text")
    end = hashlib.sha256(f"{execution}/{step}/{attempt}".encode()).hexdigest()[:10]
    prefix = chosen or f"pipelines-{execution}-{step}"
    if execution not in prefix:  # a name of one's own begins the job's name
        prefix = f"{prefix[: longest - len(execution) - len(end) - 2]}-{execution}"
    words = prefix.replace("_", "-").split("-")
    start = "-".join(word for word in words if word)[: longest - len(end) - 1]
    return f"{start.rstrip('-')}-{end}"


def longest_name(kind: str) -> int:
    """Return how many characters the name of what a step makes may have."""
    return LONGEST_NAME_OF_TUNING if kind == "Tuning" else LONGEST_NAME


def cache_key(kind: str, request: Json) -> str:
    """Return what two requests with interchangeable results have in common; "" for other kinds."""
    if kind not in SAME:
        return ""
    same = {}
    for field in SAME[kind]:
        outer, _, inner = field.rpartition(".")
        value = (request.get(outer) or {}).get(inner) if outer else request.get(inner)
        if value:
            same[field] = value
    return hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()


def fit_to_shape(value: Any, shape: Shape | None) -> Any:
    """Return the value with numbers as texts where the service takes texts.

    Parameters may be numbers.
    """
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return {
            name: fit_to_shape(each, shape.members.get(name))
            for name, each in value.items()
            if each is not None
        }
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {name: fit_to_shape(each, shape.value) for name, each in value.items()}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [fit_to_shape(each, shape.member) for each in value]
    if shape is not None and shape.type_name == "string" and isinstance(value, bool | int | float):
        return as_text(value)
    return value


def reason_of_refusal(kind: str, problem: ServiceError) -> str:
    """FailureReason of a step whose call was refused, in the service's words."""
    call = OPERATIONS.get(kind, kind)
    return f"ClientError: Failed to invoke sagemaker:{call}. Error Details: {problem}"[:1024]
