"""What is tracked of a processing job: the parameters, artifacts and state of its trial component.

Sources, for the names: test_track_from_processing_job of sagemaker-experiments, and a component in
the fixtures of odd-collector-aws (read 2026).
"""

from __future__ import annotations

from local_cloud.amazon.sagemaker.jobs.tracked_jobs import artifact, of_cluster
from local_cloud.amazon.sagemaker.lineage.jobs import DATA, IMAGE, TrackedJob
from local_cloud.amazon.sagemaker.processing.request import inputs, outputs
from local_cloud.json_types import Json


def job(arn: str, request: Json) -> TrackedJob:
    """Return the job as lineage sees it, when it is sent."""
    image = (request["AppSpecification"]["ImageUri"], IMAGE)
    read = [(each["S3Input"]["S3Uri"], DATA) for each in inputs(request)]
    written = [(each["S3Output"]["S3Uri"], DATA) for each in outputs(request)]
    config = request.get("ExperimentConfig") or {}
    return TrackedJob(arn, "SageMakerProcessingJob", [image, *read], written, config)


def facts(request: Json, standing: Json) -> Json:
    """Return the fields of its trial component; standing: its status and times, as described."""
    status = standing["ProcessingJobStatus"]
    fields: Json = {
        "Parameters": of_cluster(request["ProcessingResources"]["ClusterConfig"]),
        "InputArtifacts": {
            "SageMaker.ImageUri": artifact(request["AppSpecification"]["ImageUri"]),
            **{each["InputName"]: artifact(each["S3Input"]["S3Uri"]) for each in inputs(request)},
        },
        "OutputArtifacts": {
            each["OutputName"]: artifact(each["S3Output"]["S3Uri"]) for each in outputs(request)
        },
        "Status": {
            "PrimaryStatus": status,
            "Message": f"Status: {status}, exit message: {standing.get('ExitMessage', 'null')},"
            f" failure reason: {standing.get('FailureReason', 'null')}"[:1024],
        },
        "LastModifiedTime": standing["LastModifiedTime"],
    }
    for field, own in (("StartTime", "ProcessingStartTime"), ("EndTime", "ProcessingEndTime")):
        if own in standing:
            fields[field] = standing[own]
    return fields
