"""Where a training job or an endpoint stands, in the service's words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from local_cloud.amazon.sagemaker.resources.names import variant_of
from local_cloud.engine.serving.spec import Deployment
from local_cloud.engine.spec import Job, State
from local_cloud.json_types import Json

# TrainingJobStatus and SecondaryStatusTransition in the API reference; the messages are those
# that the SDK prints from real jobs.
STATUS = {
    State.SUCCEEDED: "Completed",
    State.FAILED: "Failed",
    State.STOPPED: "Stopped",
    State.STOPPING: "Stopping",
}
MESSAGES = {
    "Starting": "Starting the training job",
    "Downloading": "Downloading input data",
    "Training": "Training image download completed. Training in progress.",
    "Interrupted": "Managed spot training instances were interrupted",
    "Stopping": "Stopping the training job",
    "Uploading": "Uploading generated training model",
    "Completed": "Training job completed",
    "Failed": "Training job failed",
    "Stopped": "Training job stopped",
    "MaxRuntimeExceeded": "Training job runtime exceeded MaxRuntimeInSeconds provided",
    "MaxWaitTimeExceeded": "Training job wait time exceeded MaxWaitTimeInSeconds provided",
}
# What ends a job whose time is up, which for the service is no failure.
TIME_UP = {"timeout": "MaxRuntimeExceeded", "deadline": "MaxWaitTimeExceeded"}
QUEUED = "Starting the training job; it waits for its turn behind the jobs that run here"


def status(job: Job) -> str:
    """TrainingJobStatus."""
    return "Stopped" if _time_up(job) else STATUS.get(job.state, "InProgress")


def _time_up(job: Job) -> str:
    """Return the secondary status of a job whose time was up; "" for any other."""
    return TIME_UP.get(job.outcome.reason, "") if job.outcome else ""


def progress(job: Job, moments: Json) -> Json:
    """Return statuses and times, as DescribeTrainingJob gives them.

    moments: seconds since the epoch at which the results were begun to be taken away ("uploading")
    and the job to be stopped ("stopping").
    """
    steps = transitions(job, moments)
    standing: Json = {
        "TrainingJobStatus": status(job),
        "SecondaryStatus": steps[-1]["Status"],
        "SecondaryStatusTransitions": steps,
        "CreationTime": job.created,
        "LastModifiedTime": steps[-1]["StartTime"],
    }
    if job.attempts:
        standing["TrainingStartTime"] = job.attempts[0].staged
        if job.ended:
            seconds = max(1, math.ceil(_machines(job, job.ended)))
            standing |= {"TrainingTimeInSeconds": seconds, "BillableTimeInSeconds": seconds}
    if job.ended:
        standing["TrainingEndTime"] = job.ended
    return standing


def _machines(job: Job, end: float) -> float:
    """Return the seconds for which the job had machines.

    Those are the seconds of all attempts, without the pauses.
    """
    *earlier, latest = job.attempts
    return end - latest.staged + sum((each.ended or end) - each.staged for each in earlier)


def transitions(job: Job, moments: Json) -> list[Json]:
    """SecondaryStatusTransitions: each step with its times; the last has no end until the job's."""
    times: list[tuple[str, float | None]] = [("Starting", job.created)]
    stopping = moments.get("stopping")
    for attempt in job.attempts:
        times += [("Downloading", attempt.staged), ("Training", attempt.started)]
        if attempt.interrupted:
            times += [("Interrupted", attempt.interrupted)]
            ended = attempt.ended or 0
            # What a killed server has cut off ends when it was last heard of: nothing starts then.
            if ended > attempt.interrupted and not (stopping and stopping < ended):
                times += [("Starting", attempt.ended)]
    times += [("Stopping", stopping), ("Uploading", moments.get("uploading"))]
    if job.ended:  # the clock may have been set back while the results were brought away
        times = [(name, at and min(at, job.ended)) for name, at in times]
        times += [(_time_up(job) or status(job), job.ended)]
    begun = sorted(((at, name) for name, at in times if at), key=lambda step: step[0])
    steps: list[Json] = [
        {"Status": name, "StartTime": at, "StatusMessage": MESSAGES[name]} for at, name in begun
    ]
    for step, after in itertools.pairwise(steps):
        step["EndTime"] = after["StartTime"]
    if job.ended:
        steps[-1]["EndTime"] = job.ended
    if job.state is State.QUEUED:
        steps[-1]["StatusMessage"] = QUEUED
    return steps


# ---- endpoints ------------------------------------------------------------------------------
LONGEST_REASON = 1024  # characters of a FailureReason


def endpoint(document: Json, instances: Callable[[str], int]) -> Json:
    """DescribeEndpoint's answer; instances: how many of a deployment are ready."""
    shown = ("EndpointName", "EndpointArn", "EndpointConfigName", "EndpointStatus", "FailureReason")
    times = ("CreationTime", "LastModifiedTime")
    answer: Json = {field: document[field] for field in (*shown, *times) if field in document}
    if variants := document["variants"]:
        answer["ProductionVariants"] = [_variant(each, instances) for each in variants]
    if variants and (pending := document.get("pending")):
        answer["PendingDeploymentSummary"] = {
            "EndpointConfigName": pending["EndpointConfigName"],
            "StartTime": pending["StartTime"],
        }
    return answer


def _variant(variant: Json, instances: Callable[[str], int]) -> Json:
    weight = float(variant.get("InitialVariantWeight", 1.0))
    kept = ("ManagedInstanceScaling", "RoutingConfig")
    return {
        "VariantName": variant["VariantName"],
        "DeployedImages": [{"SpecifiedImage": variant["image"], "ResolvedImage": variant["image"]}],
        "CurrentWeight": weight,
        "DesiredWeight": weight,
        "CurrentInstanceCount": instances(variant["deployment"]),
        "DesiredInstanceCount": variant["InitialInstanceCount"],
        **{field: variant[field] for field in kept if variant.get(field)},
    }


def why_failed(deployment: Deployment) -> str:
    """FailureReason of an endpoint: the service's sentence, then the end of a replica's log."""
    variant = variant_of(deployment.id)
    said = deployment.message
    if not said.startswith("Replica "):  # its model could not be brought
        return said[:LONGEST_REASON]
    sentence = (
        f"The primary container for production variant {variant} did not pass the ping health"
        " check. Please check CloudWatch logs for this endpoint. "
    )
    return sentence + said[-(LONGEST_REASON - len(sentence)) :]
