"""Vertex AI's side of the verbs that are the same on both clouds: see lesson/backend.py."""

from __future__ import annotations

from GCP_helpers.costs import estimate_cost
from GCP_helpers.describe import (
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
from GCP_helpers.session import connected, refusals
from GCP_helpers.storage import fetch
from GCP_helpers.trials import study_of, trial_job, trial_reason
from GCP_helpers.watching import watch
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
SERVICE = "Vertex AI"


def estimate(spec: JobSpec, hours: float) -> Estimate:
    """Return what a job's machines cost in the session's region."""
    return estimate_cost(
        spec.machine,
        spec.gpu,
        spec.replicas,
        hours,
        gpu_count=spec.gpu_count or 1,
        region=connected().region,
    )
