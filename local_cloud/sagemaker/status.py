"""Where a training job stands, in the service's words."""

from __future__ import annotations

import itertools
import math
from typing import Any

from local_cloud.engine.spec import Job, State

Json = dict[str, Any]

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
    "Stopping": "Stopping the training job",
    "Uploading": "Uploading generated training model",
    "Completed": "Training job completed",
    "Failed": "Training job failed",
    "Stopped": "Training job stopped",
    "MaxRuntimeExceeded": "Training job runtime exceeded MaxRuntimeInSeconds provided",
}
QUEUED = "Starting the training job; it waits for its turn behind the jobs that run here"


def status(job: Job) -> str:
    """TrainingJobStatus."""
    return "Stopped" if _timed_out(job) else STATUS.get(job.state, "InProgress")


def _timed_out(job: Job) -> bool:
    """Whether its time was up, which for the service is no failure."""
    return job.outcome is not None and job.outcome.reason == "timeout"


def progress(job: Job, moments: Json) -> Json:
    """Statuses and times, as DescribeTrainingJob gives them.

    moments: seconds since the epoch at which the inputs were begun to be brought ("downloading"),
    the results to be taken away ("uploading") and the job to be stopped ("stopping").
    """
    steps = transitions(job, moments)
    found: Json = {
        "TrainingJobStatus": status(job),
        "SecondaryStatus": steps[-1]["Status"],
        "SecondaryStatusTransitions": steps,
        "CreationTime": job.created,
        "LastModifiedTime": steps[-1]["StartTime"],
    }
    if begun := moments.get("downloading"):
        found["TrainingStartTime"] = begun
        if job.ended:
            seconds = max(1, math.ceil(job.ended - begun))
            found |= {"TrainingTimeInSeconds": seconds, "BillableTimeInSeconds": seconds}
    if job.ended:
        found["TrainingEndTime"] = job.ended
    return found


def transitions(job: Job, moments: Json) -> list[Json]:
    """SecondaryStatusTransitions: each step with its times; the last has no end until the job's."""
    times = {
        "Starting": job.created,
        "Downloading": moments.get("downloading"),
        "Training": job.started,
        "Stopping": moments.get("stopping"),
        "Uploading": moments.get("uploading"),
    }
    if job.ended:
        times["MaxRuntimeExceeded" if _timed_out(job) else status(job)] = job.ended
    begun = sorted(((at, name) for name, at in times.items() if at), key=lambda step: step[0])
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
