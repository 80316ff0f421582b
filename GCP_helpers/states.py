"""Vertex AI's words for the states of jobs and of trials, in ours."""

from __future__ import annotations

from lesson.jobs import states

# JobState and PipelineState, of which the words after STATE_ are the same.
STATES = {
    "UNSPECIFIED": states.QUEUED,
    "QUEUED": states.QUEUED,
    "PENDING": states.STARTING,
    "RUNNING": states.RUNNING,
    "UPDATING": states.RUNNING,
    "SUCCEEDED": states.SUCCEEDED,
    "PARTIALLY_SUCCEEDED": states.SUCCEEDED,
    "FAILED": states.FAILED,
    "EXPIRED": states.FAILED,
    "CANCELLING": states.CANCELLING,
    "CANCELLED": states.CANCELLED,
    "PAUSED": states.CANCELLED,
}
# study.Trial.State.
TRIALS = {
    "REQUESTED": states.QUEUED,
    "ACTIVE": states.RUNNING,
    "STOPPING": states.CANCELLING,
    "SUCCEEDED": states.SUCCEEDED,
    "INFEASIBLE": states.FAILED,
}
