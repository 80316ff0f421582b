"""What this session has spent on Vertex AI, as far as its own jobs and endpoints show it."""

from __future__ import annotations

from datetime import UTC, datetime

from GCP_helpers.costs import estimate_cost, estimate_endpoint
from GCP_helpers.describe import VertexAI
from GCP_helpers.session import Session, refusals
from lesson.jobs.listing import own_jobs
from lesson.money import budget
from lesson.money.costs import PriceUnknown
from lesson.services.sessions import MARK


def estimate_spending(vertex: VertexAI) -> float:
    """Return the dollars of the session's jobs, and of its endpoints that are there now."""
    return budget.of_jobs(own_jobs(vertex), estimate_cost) + _endpoints(vertex.session)


def _endpoints(session: Session) -> float:
    from google.cloud import aiplatform

    dollars = 0.0
    with refusals("listing the endpoints"):
        for endpoint in aiplatform.Endpoint.list(filter=f"labels.{MARK}={session.labels[MARK]}"):
            hours = (datetime.now(UTC) - endpoint.create_time).total_seconds() / 3600
            for each in endpoint.list_models():
                used = each.dedicated_resources
                machine, replicas = used.machine_spec.machine_type, int(used.min_replica_count)
                dollars += _dollars(machine, replicas, max(budget.DAY, hours))
    return dollars


def _dollars(machine: str, replicas: int, hours: float) -> float:
    try:
        return estimate_endpoint(machine, replicas, hours).usd
    except PriceUnknown:
        return 0.0
