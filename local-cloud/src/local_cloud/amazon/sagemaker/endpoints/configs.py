"""Endpoint configurations: which models an endpoint has, on how many instances, by which weights.

Each of its variants is a deployment of the engine.
"""

from __future__ import annotations

import time

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.models.models import Models
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.engine.serving.deployments import MOST
from local_cloud.json_types import Json

KIND = "endpoint-config"
NAME = "EndpointConfigName"
SUMMARY = (NAME, "EndpointConfigArn", "CreationTime")

# Fields of a configuration's variants that are checked and kept, and have no effect here.
IGNORED_IN = "an endpoint configuration"  # as the table of calls names it
IGNORED = {
    "ProductionVariants[].InstanceType": "every instance is this machine; models run on its CPU",
    "ProductionVariants[].VolumeSizeInGB": "there is one disk",
    "ProductionVariants[].ModelDataDownloadTimeoutInSeconds": "nothing is downloaded",
    "ProductionVariants[].RoutingConfig": "a request goes to the instance that has the fewest",
    "ProductionVariants[].InferenceAmiVersion": "every instance is this machine",
    "ProductionVariants[].CoreDumpConfig": "no core is dumped",
    "ProductionVariants[].EnableSSMAccess": "log in to this machine instead",
    "KmsKeyId": "nothing is encrypted",
    "ExecutionRoleArn": "everything here may read and write everything here",
}
# What a configuration may ask for on the service and not here.
MISSING = {
    "AsyncInferenceConfig": "asynchronous inference",
    "ExplainerConfig": "explanations",
    "ShadowProductionVariants": "shadow variants",
    "VpcConfig": "private endpoints",
    "CrossRegionTrafficConfig": "several regions",
}
MISSING_OF_VARIANT = {
    "ServerlessConfig": "serverless inference",
    "AcceleratorType": "Elastic Inference",
    "CapacityReservationConfig": "reserved capacity",
    "InstancePools": "pools of instances",
    "AcceleratorPartitionLayouts": "parts of an accelerator",
}


class EndpointConfigs:
    """Endpoint configurations by name; a request is kept as it came."""

    def __init__(self, models: Models) -> None:
        """models: which the variants name."""
        self.models = models
        self.records, self.tags = models.records, models.tags

    def create(self, request: Json) -> Json:
        """CreateEndpointConfig."""
        name = request[NAME]
        config = {"EndpointConfigArn": arn(f"endpoint-config/{name}")}
        for field, what in MISSING.items():
            if request.get(field):
                raise not_implemented(f"{field} ({what})")
        if (request.get("DataCaptureConfig") or {}).get("EnableCapture"):
            raise not_implemented("DataCaptureConfig (requests kept in S3)")
        variants = request["ProductionVariants"]
        names = [variant["VariantName"] for variant in variants]
        if len(set(names)) < len(names):
            raise invalid("ProductionVariants: two have the same name; each needs its own")
        for variant in variants:
            self._check(variant)
        with self.records.transaction():
            if self.records.get(KIND, name):
                raise invalid(
                    "Cannot create already existing endpoint configuration"
                    f' "{config["EndpointConfigArn"]}".'
                )
            self.tags.create(config["EndpointConfigArn"], request.pop("Tags", []))
            self.records.put(KIND, name, request | config | {"CreationTime": time.time()})
        return config

    def _check(self, variant: Json) -> None:
        name = variant["VariantName"]
        for field, what in MISSING_OF_VARIANT.items():
            if variant.get(field):
                raise not_implemented(f"variant {name}: {field} ({what})")
        if not variant.get("ModelName"):
            raise not_implemented(f"variant {name}: no ModelName (inference components)")
        self.models.get(variant["ModelName"])
        if not variant.get("InstanceType") or not variant.get("InitialInstanceCount"):
            raise invalid(f"variant {name} needs an InstanceType and an InitialInstanceCount")
        check_size(name, *size(variant))

    def describe(self, params: Json) -> Json:
        """DescribeEndpointConfig."""
        return self.get(params[NAME])

    def list(self, params: Json) -> Json:
        """ListEndpointConfigs: the newest first, unless the request says otherwise."""
        configs = (config for _, config in self.records.list(KIND))
        return listing.summaries(
            configs, params, name=NAME, summary=SUMMARY, member="EndpointConfigs"
        )

    def delete(self, params: Json) -> Json:
        """DeleteEndpointConfig: endpoints that have it go on without."""
        config = self.get(params[NAME])
        with self.records.transaction():
            self.records.delete(KIND, config[NAME])
            self.tags.forget(config["EndpointConfigArn"])
        return {}

    def get(self, name: str) -> Json:
        """Return the configuration with this name."""
        config = self.records.get(KIND, name)
        if config is None:
            raise invalid(
                f'Could not find endpoint configuration "{arn(f"endpoint-config/{name}")}".'
            )
        return config


def size(variant: Json, count: int = 0) -> tuple[int, int]:
    """Return the least and the most instances of a variant; count: instead of the initial one."""
    count = count or variant["InitialInstanceCount"]
    scaling = variant.get("ManagedInstanceScaling") or {}
    if scaling.get("Status") != "ENABLED":
        return count, count
    least = scaling.get("MinInstanceCount") or count
    return least, scaling.get("MaxInstanceCount") or max(least, count)


def check_size(name: str, least: int, most: int) -> None:
    """Refuse numbers of instances that this machine does not run."""
    if not 1 <= least <= most <= MOST:
        raise invalid(
            f"variant {name}: {least} to {most} instances; here a variant has 1 to {MOST}, the"
            " smaller number first"
        )
