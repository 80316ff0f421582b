"""What this session has spent on SageMaker, as far as its own jobs and endpoints show it."""

from __future__ import annotations

from functools import partial

from AWS_helpers.costs import estimate_cost, estimate_endpoint
from AWS_helpers.describe import SageMaker
from AWS_helpers.endpoints import instances_of
from AWS_helpers.session import Session, refusals
from lesson.jobs.listing import own_jobs
from lesson.money import budget
from lesson.services.sessions import MARK


def estimate_spending(cloud: SageMaker) -> float:
    """Return the dollars of the session's jobs, and of its endpoints that are there now."""
    return budget.of_jobs(own_jobs(cloud), estimate_cost) + _endpoints(cloud.session)


def _endpoints(session: Session) -> float:
    dollars, api = 0.0, session.client("sagemaker")
    tag = {"Key": MARK, "Value": session.bucket}
    with refusals("listing the endpoints"):
        for page in api.get_paginator("list_endpoints").paginate():
            for each in page["Endpoints"]:
                if tag in api.list_tags(ResourceArn=each["EndpointArn"])["Tags"]:
                    for machine, count in instances_of(api, each["EndpointName"]):
                        price = partial(estimate_endpoint, machine, count)
                        dollars += budget.of_endpoint(each["CreationTime"], price)
    return dollars
