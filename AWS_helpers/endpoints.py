"""What runs behind an endpoint of SageMaker."""

from __future__ import annotations

from typing import Any


def instances_of(api: Any, endpoint: str) -> list[tuple[str, int]]:
    """Return the types of an endpoint's instances, each with how many there are to be now.

    `api` is boto3's client of SageMaker. A variant that has failed, or is not ready yet, has none.
    """
    endpoint_now = api.describe_endpoint(EndpointName=endpoint)
    config = api.describe_endpoint_config(EndpointConfigName=endpoint_now["EndpointConfigName"])
    counts = {
        each["VariantName"]: each.get("DesiredInstanceCount", 1)
        for each in endpoint_now.get("ProductionVariants", [])
    }
    variants = config["ProductionVariants"]
    sizes = [(each["InstanceType"], counts.get(each["VariantName"], 0)) for each in variants]
    return [(machine, count) for machine, count in sizes if count]
