"""What is tracked of a training job: the parameters, artifacts and state of its trial component.

Sources, for the names: a component in a test of sagemaker-core (test_deserializer_for_map_type),
the system tests of sagemaker-experiments, and public notebooks that read them (read 2026).
"""

from __future__ import annotations

from typing import Any

from local_cloud.amazon.sagemaker.jobs import outputs
from local_cloud.amazon.sagemaker.lineage.jobs import CHECKPOINT, DATA, IMAGE, TrackedJob
from local_cloud.amazon.sagemaker.resources.request import places
from local_cloud.json_types import Json

MODEL_ARTIFACT = "SageMaker.ModelArtifact"


def job(arn: str, request: Json) -> TrackedJob:
    """Return the job as lineage sees it, when it is sent."""
    inputs = [(request["AlgorithmSpecification"]["TrainingImage"], IMAGE)]
    inputs += [(_source(channel), DATA) for channel in request.get("InputDataConfig") or []]
    left = dict(places(request))
    checkpoints = [(uri, CHECKPOINT) for uri in [left.get("CheckpointConfig.S3Uri")] if uri]
    config = request.get("ExperimentConfig") or {}
    return TrackedJob(arn, "SageMakerTrainingJob", inputs, checkpoints, config)


def facts(request: Json, description: Json, statistics: list[Json]) -> Json:
    """Return the fields of its trial component.

    description: the job's; statistics: those of its metrics.
    """
    resources = request["ResourceConfig"]
    fields: Json = {
        "Parameters": {
            **{name: value(text) for name, text in (request.get("HyperParameters") or {}).items()},
            "SageMaker.ImageUri": value(request["AlgorithmSpecification"]["TrainingImage"]),
            **of_cluster(resources),
        },
        "InputArtifacts": {
            channel["ChannelName"]: artifact(_source(channel), channel.get("ContentType"))
            for channel in request.get("InputDataConfig") or []
        },
        "OutputArtifacts": {},
        "Status": {
            "PrimaryStatus": description["TrainingJobStatus"],
            "Message": f"Status: {description['TrainingJobStatus']}, secondary status:"
            f" {description['SecondaryStatus']}, failure reason:"
            f" {description.get('FailureReason', 'null')}"[:1024],
        },
        "LastModifiedTime": description["LastModifiedTime"],
        "Metrics": statistics,
    }
    if "ModelArtifacts" in description:
        fields["OutputArtifacts"][MODEL_ARTIFACT] = artifact(outputs.model(request))
    for field, own in (("StartTime", "TrainingStartTime"), ("EndTime", "TrainingEndTime")):
        if own in description:
            fields[field] = description[own]
    return fields


def of_cluster(resources: Json) -> Json:
    """Return the parameters that say what a job's instances are."""
    return {
        f"SageMaker.{name}": value(resources[name])
        for name in ("InstanceCount", "InstanceType", "VolumeSizeInGB")
        if name in resources
    }


def value(given: Any) -> Json:
    """Return a parameter: a number where it is one, else a text."""
    try:
        return {"NumberValue": float(given)}
    except ValueError:
        return {"StringValue": given}


def artifact(uri: str, media_type: str | None = None) -> Json:
    """Return an artifact of a component."""
    return {"Value": uri} | ({"MediaType": media_type} if media_type else {})


def _source(channel: Json) -> str:
    uri: str = channel["DataSource"]["S3DataSource"]["S3Uri"]
    return uri
