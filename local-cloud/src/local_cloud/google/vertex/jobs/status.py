"""Where a job stands, in the service's words."""

from __future__ import annotations

from collections.abc import Callable

from local_cloud.engine.spec import Job, Outcome, State
from local_cloud.google.vertex.jobs import failure_messages
from local_cloud.google.vertex.resources import errors
from local_cloud.google.vertex.resources.schema import timestamp
from local_cloud.json_types import Json

# The engine's states in the service's words: types/job_state.py, types/pipeline_state.py.
STATES = {
    State.QUEUED: "STATE_QUEUED",
    State.STAGING: "STATE_PENDING",
    State.RUNNING: "STATE_RUNNING",
    State.STOPPING: "STATE_CANCELLING",
    State.SUCCEEDED: "STATE_SUCCEEDED",
    State.FAILED: "STATE_FAILED",
    State.STOPPED: "STATE_CANCELLED",
}
CODES = {
    "exit": errors.INVALID_ARGUMENT,
    "staging": errors.INVALID_ARGUMENT,
    "timeout": errors.DEADLINE_EXCEEDED,
    "interrupted": errors.RESOURCE_EXHAUSTED,
    "space": errors.RESOURCE_EXHAUSTED,
    "quota": errors.RESOURCE_EXHAUSTED,
    "memory": errors.INVALID_ARGUMENT,
    "machine": errors.INTERNAL,
    "collect": errors.INTERNAL,
    "lost": errors.INTERNAL,
    "stopped": errors.CANCELLED,
}


def progress(job: Job, prefix: str, message: Callable[[Job, Outcome], str]) -> Json:
    """Return state, times and error of a job; prefix: JOB_ or PIPELINE_; message: of its error."""
    standing: Json = {"state": prefix + STATES[job.state]}
    if job.started:
        latest = job.attempts[-1] if job.attempts else None
        updated = (latest and (latest.ended or latest.started)) or job.started
        standing |= {"startTime": timestamp(job.started), "updateTime": timestamp(updated)}
    if job.ended:
        standing |= {"endTime": timestamp(job.ended), "updateTime": timestamp(job.ended)}
    if job.outcome and job.state != State.SUCCEEDED:
        code = CODES[job.outcome.reason]
        standing["error"] = {"code": code, "message": message(job, job.outcome)}
    return standing


def message(outcome: Outcome, log_page: str) -> str:
    """Return the service's own words for a replica's failure, the end of its log, and its page."""
    if outcome.reason == "stopped":
        return "CANCELED"
    if outcome.reason == "interrupted":
        return f"STOCKOUT: {outcome.message}"
    if outcome.replica is None or outcome.code is None:
        return outcome.message
    end = "\n".join([*outcome.last_lines, f"Its log: {log_page}"])
    if outcome.reason == "machine":
        return failure_messages.INTERNAL
    if outcome.reason == "memory":
        return f"{failure_messages.OUT_OF_MEMORY.format(outcome.replica)}\n{end}"
    # A container reports the signal that ended it as 128 and its number.
    status = outcome.code if outcome.code > 0 else 128 - outcome.code
    return (
        f"The replica {outcome.replica} exited with a non-zero status of {status}. "
        f"Termination reason: Error.\n{end}"
    )
