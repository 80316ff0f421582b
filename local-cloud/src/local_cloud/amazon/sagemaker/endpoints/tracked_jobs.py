"""What is tracked of a transform job: the parameters, artifacts and state of its trial component.

Source, for the names: a component in the fixtures of odd-collector-aws (read 2026).
"""

from __future__ import annotations

from local_cloud.amazon.sagemaker.jobs.tracked_jobs import artifact, of_cluster
from local_cloud.amazon.sagemaker.lineage.jobs import DATA, TrackedJob
from local_cloud.json_types import Json


def job(document: Json) -> TrackedJob:
    """Return the job as lineage sees it, when it is sent."""
    read, written = [(_input(document), DATA)], [(_output(document), DATA)]
    config = document.get("ExperimentConfig") or {}
    arn: str = document["TransformJobArn"]
    return TrackedJob(arn, "SageMakerTransformJob", read, written, config)


def facts(document: Json, model: Json | None) -> Json:
    """Return the fields of its trial component; model: the one that it asks, if that is there."""
    status = document["TransformJobStatus"]
    containers = (model or {}).get("Containers") or [(model or {}).get("PrimaryContainer") or {}]
    words = {
        "ModelName": document["ModelName"],
        "ModelPrimary.Image": containers[0].get("Image"),
        "ModelPrimary.DataUrl": containers[0].get("ModelDataUrl"),
    }
    facts: Json = {
        "Parameters": of_cluster(document["TransformResources"])
        | {f"SageMaker.{name}": {"StringValue": text} for name, text in words.items() if text},
        "InputArtifacts": {
            "SageMaker.TransformInput": artifact(
                _input(document), document["TransformInput"].get("ContentType")
            )
        },
        "OutputArtifacts": {"SageMaker.TransformOutput": artifact(_output(document))},
        "Status": {
            "PrimaryStatus": status,
            "Message": f"Status: {status}, failure reason: {document.get('FailureReason', 'null')}"[
                :1024
            ],
        },
        "LastModifiedTime": document["LastModifiedTime"],
    }
    for field, own in (("StartTime", "TransformStartTime"), ("EndTime", "TransformEndTime")):
        if own in document:
            facts[field] = document[own]
    return facts


def _input(document: Json) -> str:
    uri: str = document["TransformInput"]["DataSource"]["S3DataSource"]["S3Uri"]
    return uri


def _output(document: Json) -> str:
    uri: str = document["TransformOutput"]["S3OutputPath"]
    return uri
