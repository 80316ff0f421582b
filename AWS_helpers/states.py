"""SageMaker's words for the states of jobs, in ours."""

from __future__ import annotations

from lesson.jobs import states

STATES = {
    "InProgress": states.RUNNING,
    "Completed": states.SUCCEEDED,
    "Failed": states.FAILED,
    "DeleteFailed": states.FAILED,
    "Stopping": states.CANCELLING,
    "Deleting": states.CANCELLING,
    "Stopped": states.CANCELLED,
}
# What InProgress is in more detail, of a training job; not listed here: running.
STAGES = {
    "Pending": states.QUEUED,
    "Interrupted": states.QUEUED,  # spot machines were taken away; it waits for others
    "Starting": states.STARTING,
    "LaunchingMLInstances": states.STARTING,
    "PreparingTrainingStack": states.STARTING,
    "Downloading": states.STARTING,
    "DownloadingTrainingImage": states.STARTING,
}
