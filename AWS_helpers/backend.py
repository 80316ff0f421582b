"""SageMaker's side of the verbs that are the same on both clouds: see lesson/backend.py."""

from __future__ import annotations

from AWS_helpers.costs import estimate_cost
from AWS_helpers.describe import (
    backing_job,
    every,
    failure_reason,
    is_job,
    is_tuning,
    named,
    refresh,
    spec,
    status,
    stop,
)
from AWS_helpers.session import connected, refusals
from AWS_helpers.storage import fetch
from AWS_helpers.trials import study_of, trial_job, trial_reason
from AWS_helpers.watching import watch
from lesson.backend import JobSpec
from lesson.costs import Estimate

__all__ = [
    "SERVICE",
    "backing_job",
    "connected",
    "estimate",
    "every",
    "failure_reason",
    "fetch",
    "is_job",
    "is_tuning",
    "named",
    "refresh",
    "refusals",
    "spec",
    "status",
    "stop",
    "study_of",
    "trial_job",
    "trial_reason",
    "watch",
]
SERVICE = "SageMaker"


def estimate(spec: JobSpec, hours: float) -> Estimate:
    """Return what a job's machines cost in the session's region."""
    region = connected().region
    return estimate_cost(spec.machine, replicas=spec.replicas, hours=hours, region=region)
