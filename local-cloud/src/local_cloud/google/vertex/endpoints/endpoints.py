"""Endpoints, and the models that are deployed to them.

A deployed model is a deployment of the engine, under the same id. `vertex-deployed` holds what it
was made from, until it is undeployed; the endpoint's document lists it as soon as it is ready.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from typing import Any

from google.cloud.aiplatform_v1.types import Endpoint
from google.cloud.aiplatform_v1.types.endpoint_service import (
    DeployModelRequest,
    MutateDeployedModelRequest,
    UndeployModelRequest,
)

from local_cloud.engine.serving.deployment_runner import LATE
from local_cloud.engine.serving.spec import Deployment, NoSuchDeployment, ServingState
from local_cloud.engine.spec import EngineError
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.endpoints import serving_launch
from local_cloud.google.vertex.models.registry import DEPLOYED, ModelRegistry
from local_cloud.google.vertex.resources import billing, documents
from local_cloud.google.vertex.resources.collection import Collection
from local_cloud.google.vertex.resources.documents import number_project
from local_cloud.google.vertex.resources.errors import not_found
from local_cloud.google.vertex.resources.request import check_machine
from local_cloud.google.vertex.resources.schema import (
    new_id,
    parse_message,
    require,
    timestamp,
)
from local_cloud.json_types import Json
from local_cloud.platform import Platform

DIALECT = "vertex"
# The forms of both: types/endpoint_service.py, endpoint_id; types/endpoint.py, DeployedModel.id.
ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?|[1-9][0-9]{0,8}")
DEPLOYED_ID = re.compile(r"[0-9]{1,10}")
NEW = "0"  # in a traffic split: the model that is being deployed
FAILED_PRECONDITION = 9  # google/rpc/code.proto
EXITED = "Model server exited unexpectedly."
# https://github.com/GoogleCloudPlatform/vertex-ai-samples/issues/3485 (2024-08-26).
NEVER_READY = (
    "Model server never became ready. Please validate that your model file or container"
    " configuration are valid. Model server logs can be found below."
)

# What an endpoint may ask for on the service and not here.
REFUSED = {
    "network": "private endpoints (network)",
    "enablePrivateServiceConnect": "private endpoints (Private Service Connect)",
    "privateServiceConnectConfig": "private endpoints (Private Service Connect)",
    "dedicatedEndpointEnabled": "dedicated endpoints",
    "predictRequestResponseLoggingConfig": "logging requests to BigQuery",
}


class Endpoints(Collection):
    """The endpoints of the service."""

    def __init__(self, platform: Platform, models: ModelRegistry) -> None:
        """models: whose versions are deployed."""
        fixed = ("deployedModels",)
        super().__init__(platform.records, "endpoints", Endpoint, ids=ID, fixed=fixed)
        self.serving = platform.serving
        self._base_of = platform.engine.base
        self._facts: dict[str, Json] = {}  # of deployed models, which do not change
        self.models = models

    # ---- requests -------------------------------------------------------------------------------
    def create(self, parent: str, body: Json, chosen: str = "", **more: Any) -> Json:
        """Create an endpoint, without a model."""
        sent = parse_message(Endpoint, body, "Endpoint")
        for field, what in REFUSED.items():
            if sent.get(field):
                raise ApiError("UNIMPLEMENTED", f"not implemented in the local cloud: {what}")
        sent.pop("deployedModels", None)
        return super().create(parent, sent, chosen, **more)

    def describe(self, name: str) -> Json:
        """Return an endpoint as it stands, with the replicas of each model that are ready."""
        endpoint = self.get(name)
        for each in endpoint.get("deployedModels", []):
            count = self.serving.figures(each["id"]).replicas
            each["status"] = {"availableReplicaCount": count}
        return endpoint

    def patch(self, name: str, body: Json, mask: str) -> Json:
        """Change an endpoint; a new traffic split holds from the next request on."""
        with self.records.transaction():
            endpoint = super().patch(name, body, mask)
            if "trafficSplit" in body and (not mask or "trafficSplit" in documents.camel(mask)):
                self._check_split(endpoint, endpoint.get("trafficSplit", {}))
                self.serving.set_traffic(name, _weights(endpoint))
        return endpoint

    def delete(self, name: str, etag: str = "") -> None:
        """Delete an endpoint that has no model."""
        if self.get(name).get("deployedModels") or self._has_deployments(name):
            raise ApiError(
                "FAILED_PRECONDITION", f"{name} has deployed models: undeploy them first."
            )
        with self.records.transaction():
            super().delete(name, etag)
            self.records.delete("vertex-policy", name)

    def deploy(self, name: str, body: Json) -> Json:
        """:deployModel, answered with an operation that ends when a replica is ready."""
        request = parse_message(DeployModelRequest, body | {"endpoint": name})
        endpoint = self.get(name)
        deployed = request.get("deployedModel", {})
        model = self.models.find(number_project(deployed.get("model", "")))
        minimum, maximum = replicas(deployed)
        serving_launch.check(model, self._base_of)
        wanted = deployed.get("id", "")
        require(
            not wanted or DEPLOYED_ID.fullmatch(wanted),
            f"deployedModel.id: {wanted!r} is not 1 to 10 digits",
        )
        chosen = wanted or new_id()
        split = {_own(key, chosen): share for key, share in request.get("trafficSplit", {}).items()}
        self._check_split(endpoint, split, chosen)
        deployed |= {
            "id": chosen,
            "model": model["name"],
            "modelVersionId": model["versionId"],
            "displayName": deployed.get("displayName") or model["displayName"],
            "createTime": timestamp(time.time()),
        }
        operation = documents.begin_operation(
            self.records, name, "DeployModelOperationMetadata", deployment=chosen
        )
        facts = {"endpoint": name, "deployedModel": deployed, "model": model}
        with self.records.transaction():
            self.records.put("vertex", operation["name"], operation)
            self.records.put(
                DEPLOYED, chosen, facts | {"trafficSplit": split, "operation": operation["name"]}
            )
            try:
                machine = billing.of_deployed("endpoint", name, deployed)
                self.serving.deploy(
                    DIALECT, name, chosen, minimum=minimum, maximum=maximum, rented=machine
                )
            except EngineError as problem:
                raise ApiError("INVALID_ARGUMENT", str(problem)) from None
        return documents.show_operation(operation)

    def undeploy(self, name: str, body: Json) -> Json:
        """:undeployModel: no new request, then the end of its replicas."""
        request = parse_message(UndeployModelRequest, body | {"endpoint": name})
        chosen = request.get("deployedModelId", "")
        with self.records.transaction():
            endpoint: Json = self.get(name)
            rest: list[Json] = [
                each for each in endpoint.get("deployedModels", []) if each["id"] != chosen
            ]
            if len(rest) == len(endpoint.get("deployedModels", [])):
                raise not_found(f"{name}/deployedModels/{chosen}")
            split: Json = request.get("trafficSplit") or endpoint.get("trafficSplit", {})
            if rest and split.get(chosen):
                raise ApiError(
                    "FAILED_PRECONDITION",
                    f"The DeployedModel {chosen} has {split[chosen]} % of the traffic: give the"
                    " request a trafficSplit for the others.",
                )
            endpoint["deployedModels"] = rest
            split = {key: share for key, share in split.items() if key != chosen}
            self._check_split(endpoint, split)
            endpoint["trafficSplit"] = split
            self.records.put(self.kind, name, endpoint)
            self.serving.set_traffic(name, _weights(endpoint))
            self._forget(chosen)
            response = {"@type": f"{documents.TYPES}UndeployModelResponse"}
            return documents.record_operation(
                self.records, name, response, metadata="UndeployModelOperationMetadata"
            )

    def mutate(self, name: str, body: Json) -> Json:
        """:mutateDeployedModel: other numbers of replicas."""
        request = parse_message(MutateDeployedModelRequest, body | {"endpoint": name})
        changed = request.get("deployedModel", {})
        with self.records.transaction():
            endpoint = self.get(name)
            for each in endpoint.get("deployedModels", []):
                if each["id"] == changed.get("id"):
                    minimum, maximum = replicas({**each, **changed})
                    self.serving.scale(each["id"], minimum, maximum)
                    key = _RESOURCES[0] if _RESOURCES[0] in each else _RESOURCES[1]
                    each[key] = each.get(key, {}) | changed.get(key, {})
                    self.records.put(self.kind, name, endpoint)
                    metadata = "MutateDeployedModelOperationMetadata"
                    response = {
                        "@type": f"{documents.TYPES}MutateDeployedModelResponse",
                        "deployedModel": each,
                    }
                    return documents.record_operation(
                        self.records, name, response, metadata=metadata
                    )
        raise not_found(f"{name}/deployedModels/{changed.get('id', '')}")

    def facts(self, deployed_id: str) -> Json:
        """Return what a deployed model was made from; NOT_FOUND if there is none."""
        if deployed_id not in self._facts:
            document = self.records.get(DEPLOYED, deployed_id)
            if document is None:
                raise ApiError("NOT_FOUND", f"The DeployedModel {deployed_id} does not exist.")
            self._facts[deployed_id] = document
        return self._facts[deployed_id]

    async def operation(self, document: Json, seconds: float) -> Json:
        """Return an operation, at the latest when its deployment is ready or has failed."""
        if not document.get("done") and (chosen := document.get("deployment")):
            with contextlib.suppress(NoSuchDeployment):  # it has failed, and is gone
                await self.serving.wait_for_change(self.serving.get(chosen), seconds)
        return documents.show_operation(documents.get(self.records, document["name"]))

    def settle(self, deployment: Deployment) -> None:
        """List a deployed model that is ready, and move traffic to it; forget one that failed."""
        facts = self.records.get(DEPLOYED, deployment.id)
        if facts is None or "operation" not in facts:  # settled already, before a restart
            return
        with self.records.transaction():
            operation = documents.get(self.records, facts.pop("operation"))
            if deployment.state is ServingState.READY:
                endpoint = self.get(facts["endpoint"])
                listed = [*endpoint.get("deployedModels", []), facts["deployedModel"]]
                endpoint["deployedModels"] = listed
                if split := facts.pop("trafficSplit"):  # else the endpoint's own stays
                    endpoint["trafficSplit"] = split
                self.records.put(self.kind, endpoint["name"], endpoint)
                self.records.put(DEPLOYED, deployment.id, facts)
                self.serving.set_traffic(endpoint["name"], _weights(endpoint))
                operation["response"] = {
                    "@type": f"{documents.TYPES}DeployModelResponse",
                    "deployedModel": facts["deployedModel"],
                }
            else:
                late = LATE in deployment.message
                message = f"{NEVER_READY if late else EXITED} {deployment.message}"
                operation["error"] = {"code": FAILED_PRECONDITION, "message": message}
                self._forget(deployment.id)
            self.records.put("vertex", operation["name"], operation | {"done": True})

    # ---- inside ---------------------------------------------------------------------------------
    def _forget(self, deployed_id: str) -> None:
        self.records.delete(DEPLOYED, deployed_id)
        self._facts.pop(deployed_id, None)  # the next one may have the same id
        self.serving.remove(deployed_id)

    def _has_deployments(self, name: str) -> bool:
        return any(True for _ in self.serving.deployments(name))

    def _check_split(self, endpoint: Json, split: Mapping[str, int], new: str = "") -> None:
        known = {new, *(each["id"] for each in endpoint.get("deployedModels", []))}
        for key, share in split.items():
            require(key in known, f"trafficSplit: {key} is no DeployedModel of this endpoint")
            require(share >= 0, f"trafficSplit: {share} is negative")
        total = sum(split.values())
        require(not split or total == 100, f"trafficSplit: the sum is {total}; it must be 100")


# AutoscalingMetricSpec in types/machine_resources.py.
ONLINE = "aiplatform.googleapis.com/prediction/online/"
METRICS = (
    f"{ONLINE}accelerator/duty_cycle",
    f"{ONLINE}cpu/utilization",
    f"{ONLINE}request_count",
    "pubsub.googleapis.com/subscription/num_undelivered_messages",
    "prometheus.googleapis.com/vertex_dcgm_fi_dev_gpu_util",
)
_RESOURCES = ("dedicatedResources", "automaticResources")


def replicas(deployed: Json) -> tuple[int, int]:
    """Return the least and the most replicas that a DeployedModel asks for."""
    if "sharedResources" in deployed:
        raise ApiError(
            "UNIMPLEMENTED", "not implemented in the local cloud: deployment resource pools"
        )
    kind = _RESOURCES[0] if _RESOURCES[0] in deployed else _RESOURCES[1]
    resources = deployed.get(kind, {})
    if kind == _RESOURCES[0]:
        _check_dedicated(kind, resources)
    minimum = int(resources.get("minReplicaCount", 1))
    maximum = int(resources.get("maxReplicaCount", minimum))
    require(
        minimum <= maximum,
        f"{kind}.maxReplicaCount: {maximum} is less than minReplicaCount, {minimum}",
    )
    return minimum, maximum


def _check_dedicated(where: str, resources: Json) -> None:
    """Refuse dedicated resources that the service would: DedicatedResources in its types."""
    machine = {"machineType": "n1-standard-2"} | resources.get("machineSpec", {})  # its default
    check_machine(f"{where}.machineSpec", machine)
    minimum = int(resources.get("minReplicaCount", 0))
    require(minimum >= 1, f"{where}.minReplicaCount: {minimum}; it must be at least 1")
    names = []
    for metric in resources.get("autoscalingMetricSpecs", []):
        name, target = metric.get("metricName", ""), int(metric.get("target", 60))
        require(name in METRICS, f"{where}.autoscalingMetricSpecs: {name!r} is no metric")
        require(name not in names, f"{where}.autoscalingMetricSpecs: {name} is there twice")
        in_percent = name.endswith(("utilization", "duty_cycle"))
        fits = 1 <= target <= 100 or not in_percent
        require(fits, f"{where}.autoscalingMetricSpecs: the target {target} is not 1 to 100 %")
        names.append(name)


def _own(key: str, chosen: str) -> str:
    return chosen if key == NEW else key


def _weights(endpoint: Json) -> dict[str, int]:
    return {key: int(share) for key, share in endpoint.get("trafficSplit", {}).items()}
