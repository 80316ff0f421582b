"""What this session has spent on SageMaker, as far as its own jobs and endpoints show it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from AWS_helpers.costs import estimate_cost, estimate_endpoint
from AWS_helpers.describe import SageMaker
from AWS_helpers.session import Session, refusals
from lesson.jobs.listing import own_jobs
from lesson.money import budget
from lesson.money.costs import PriceUnknown
from lesson.services.sessions import MARK


def estimate_spending(sagemaker: SageMaker) -> float:
    """Return the dollars of the session's jobs, and of its endpoints that are there now."""
    return budget.of_jobs(own_jobs(sagemaker), estimate_cost) + _endpoints(sagemaker.session)


def _endpoints(session: Session) -> float:
    dollars, api = 0.0, session.client("sagemaker")
    tag = {"Key": MARK, "Value": session.bucket}
    with refusals("listing the endpoints"):
        for page in api.get_paginator("list_endpoints").paginate():
            for each in page["Endpoints"]:
                if tag in api.list_tags(ResourceArn=each["EndpointArn"])["Tags"]:
                    hours = (datetime.now(UTC) - each["CreationTime"]).total_seconds() / 3600
                    dollars += _variants(api, each["EndpointName"], max(budget.DAY, hours))
    return dollars


def _variants(api: Any, endpoint: str, hours: float) -> float:
    """Return the dollars of an endpoint's instances, as many as there are to be now."""
    found = api.describe_endpoint(EndpointName=endpoint)
    config = api.describe_endpoint_config(EndpointConfigName=found["EndpointConfigName"])
    counts = {
        each["VariantName"]: each.get("DesiredInstanceCount", 1)
        for each in found.get("ProductionVariants", [])
    }
    dollars = 0.0
    for each in config["ProductionVariants"]:
        if count := counts.get(each["VariantName"], 0):
            try:
                dollars += estimate_endpoint(each["InstanceType"], count, hours).usd
            except PriceUnknown:
                continue
    return dollars
