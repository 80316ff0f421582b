"""What this session has spent on Vertex AI, as far as its own jobs and endpoints show it."""

from __future__ import annotations

from functools import partial

from GCP_helpers.costs import estimate_cost, estimate_endpoint
from GCP_helpers.describe import VertexAI
from GCP_helpers.session import Session, refusals
from lesson.jobs.listing import own_jobs
from lesson.money import budget
from lesson.services.sessions import MARK


def estimate_spending(cloud: VertexAI) -> float:
    """Return the dollars of the session's jobs, and of its endpoints that are there now."""
    return budget.of_jobs(own_jobs(cloud), estimate_cost) + _endpoints(cloud.session)


def _endpoints(session: Session) -> float:
    from google.cloud import aiplatform

    dollars = 0.0
    with refusals("listing the endpoints"):
        for endpoint in aiplatform.Endpoint.list(filter=f"labels.{MARK}={session.labels[MARK]}"):
            for each in endpoint.list_models():
                used = each.dedicated_resources
                machine, replicas = used.machine_spec.machine_type, int(used.min_replica_count)
                price = partial(estimate_endpoint, machine, replicas)
                dollars += budget.of_endpoint(endpoint.create_time, price)
    return dollars
