"""Endpoints: variants that share requests by weight, each a deployment of the engine.

An endpoint's document lists the variants that get its requests, and as `pending` those that are
to: they take over when each of them has a replica that is ready, and if one fails nothing changes.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Any

from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.sagemaker.endpoints.configs import EndpointConfigs, check_size, size
from local_cloud.amazon.sagemaker.jobs import status
from local_cloud.amazon.sagemaker.resources import billing, listing
from local_cloud.amazon.sagemaker.resources.names import arn, variant_of
from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.engine.serving.spec import Deployment, NoSuchDeployment, ServingState
from local_cloud.engine.spec import EngineError
from local_cloud.json_types import Json
from local_cloud.platform import Platform
from local_cloud.store import readable

DIALECT = "sagemaker"
KIND = "endpoint"
FACTS = "sagemaker-deployment"  # what a deployment was made from, by its id
NAME, CONFIG, VARIANTS = "EndpointName", "EndpointConfigName", "ProductionVariants"
SUMMARY = (NAME, "EndpointArn", "CreationTime", "LastModifiedTime", "EndpointStatus")


class Endpoints:
    """Endpoints by name."""

    def __init__(self, platform: Platform, configs: EndpointConfigs) -> None:
        """configs: which an endpoint names."""
        self.records, self.serving = platform.records, platform.serving
        self.configs, self.models, self.tags = configs, configs.models, configs.tags

    # ---- requests -------------------------------------------------------------------------------
    def create(self, request: Json) -> Json:
        """CreateEndpoint: it is InService as soon as a replica of each variant is ready."""
        name, now = request[NAME], time.time()
        if request.get("DeploymentConfig"):
            _check_rollout(request["DeploymentConfig"])
        config = self.configs.get(request[CONFIG])
        answer = {"EndpointArn": arn(f"endpoint/{name}")}
        with self.records.transaction():
            if self._is_taken(name):
                raise invalid(f'Cannot create already existing endpoint "{answer["EndpointArn"]}".')
            self.tags.create(answer["EndpointArn"], request.get("Tags", []))
            document = {
                NAME: name,
                **answer,
                CONFIG: request[CONFIG],
                "CreationTime": now,
                "LastModifiedTime": now,
                "EndpointStatus": "Creating",
                "variants": [],
                "pending": self._begin(name, config, [dict(v) for v in config[VARIANTS]]),
                "failed": [],
            }
            self.records.put(KIND, name, document)
        return answer

    def describe(self, params: Json) -> Json:
        """DescribeEndpoint."""
        return status.endpoint(self._get(params[NAME]), self._instances)

    def list(self, params: Json) -> Json:
        """ListEndpoints: the newest first, unless the request says otherwise."""
        names = [name for name, _ in self.records.list(KIND)]
        there = readable.each(
            KIND, ((name, name) for name in names), lambda name, _: self._find(name)
        )
        endpoints = [one for one in there if one]
        chosen = listing.select(endpoints, params, name=NAME, status="EndpointStatus")
        fields = {"Name": NAME, "CreationTime": "CreationTime", "Status": "EndpointStatus"}
        ordered = listing.sort(chosen, params, fields, default="Descending")
        short = [{field: item[field] for field in SUMMARY} for item in ordered]
        return listing.page(short, params, "Endpoints")

    def update(self, request: Json) -> Json:
        """UpdateEndpoint: replicas of another configuration take over when they are ready."""
        if request.get("DeploymentConfig"):
            _check_rollout(request["DeploymentConfig"])
        config = self.configs.get(request[CONFIG])
        with self.records.transaction():
            document = self._in_service(request[NAME])
            old = {variant["VariantName"]: variant for variant in document["variants"]}
            variants = [_retain_properties(dict(v), old, request) for v in config[VARIANTS]]
            pending = self._begin(request[NAME], config, variants)
            self._put(document, EndpointStatus="Updating", pending=pending)
        return {"EndpointArn": document["EndpointArn"]}

    def update_weights(self, request: Json) -> Json:
        """UpdateEndpointWeightsAndCapacities: weights hold from the next request on."""
        with self.records.transaction():
            document = self._in_service(request[NAME])
            known = {variant["VariantName"]: variant for variant in document["variants"]}
            for wish in request["DesiredWeightsAndCapacities"]:
                if not (variant := known.get(wish["VariantName"])):
                    raise invalid(f'Variant(s) "{wish["VariantName"]}" do not exist on endpoint.')
                if wish.get("ServerlessUpdateConfig"):
                    raise not_implemented("ServerlessUpdateConfig (serverless inference)")
                _resize(variant, wish.get("DesiredInstanceCount"))
                variant["InitialVariantWeight"] = wish.get("DesiredWeight", _weight(variant))
                self.serving.scale(variant["deployment"], *size(variant))
            self._put(document)
            self._share(document)
        return {"EndpointArn": document["EndpointArn"]}

    def delete(self, params: Json) -> Json:
        """DeleteEndpoint: no new request; it is gone when its replicas are."""
        with self.records.transaction():
            document = self._get(params[NAME])
            if document["EndpointStatus"] in ("Creating", "Updating", "Deleting"):
                raise invalid(f'Cannot update in-progress endpoint "{document["EndpointArn"]}".')
            self._remove(_ids(document))
            self._put(document, EndpointStatus="Deleting")
        return {}

    # ---- what requests for predictions ask ------------------------------------------------------
    def deployment(self, endpoint: str, variant: str | None) -> tuple[str, str]:
        """Return the variant that gets a request, and its deployment.

        variant: the one that is wanted.
        """
        if not variant and self.serving.traffic(endpoint):
            return self._choose(endpoint)
        document = self._get(endpoint)  # which says why there is no traffic
        if not document["variants"]:
            raise invalid(f"Endpoint {endpoint} is {document['EndpointStatus']}: it has no model.")
        if not variant:
            return self._choose(endpoint)
        deployments = {each["VariantName"]: each["deployment"] for each in document["variants"]}
        if variant not in deployments:
            raise invalid(f"Variant {variant} not found for Request")
        return variant, deployments[variant]

    def _choose(self, endpoint: str) -> tuple[str, str]:
        chosen = self.serving.choose(endpoint)
        return variant_of(chosen), chosen

    # ---- what the engine asks -------------------------------------------------------------------
    def settle(self, deployment: Deployment) -> None:
        """See what it means for its endpoint that a variant is ready, or has failed."""
        self._find(deployment.endpoint)

    # ---- inside ---------------------------------------------------------------------------------
    def _begin(self, endpoint: str, config: Json, variants: Sequence[Json]) -> Json:
        """Start the replicas of these variants, which get no request yet."""
        for variant in variants:
            model = self.models.get(variant["ModelName"])
            variant["deployment"] = f"{variant['VariantName']}.{secrets.token_hex(4)}"
            container = self.models.container(variant["ModelName"])
            variant["image"] = container["Image"]
            isolated = bool(model.get("EnableNetworkIsolation"))
            facts = {
                "endpoint": endpoint,
                "container": container,
                "variant": variant,
                "isolated": isolated,
            }
            self.records.put(FACTS, variant["deployment"], facts)
            try:
                machine = billing.of_instances("endpoint", endpoint, variant)
                made = variant["deployment"]
                minimum, maximum = size(variant)
                self.serving.deploy(
                    DIALECT, endpoint, made, minimum=minimum, maximum=maximum, rented=machine
                )
            except EngineError as problem:
                raise invalid(str(problem)) from None
        return {CONFIG: config[CONFIG], "StartTime": time.time(), "variants": variants}

    def _find(self, name: str) -> Json | None:
        """Return the endpoint as it stands now; None if there is none."""
        document = self.records.get(KIND, name)
        if document is None:
            return None
        if document["EndpointStatus"] == "Deleting":
            if not any(map(self.serving.is_ending, _ids(document))):
                with self.records.transaction():
                    self.records.delete(KIND, name)
                    self.tags.forget(document["EndpointArn"])
                return None
        elif pending := document.get("pending"):
            self._settle(document, pending)
        return document

    def _is_taken(self, name: str) -> bool:
        """Return whether an endpoint has this name.

        Here alone "the name is case-insensitive": CreateEndpoint in the API reference (read 2026).
        """
        names = [known for known, _ in self.records.list(KIND)]
        return any(self._find(known) for known in names if known.lower() == name.lower())

    def _settle(self, document: Json, pending: Json) -> None:
        """Let the pending variants take over if all are ready; forget them if one has failed."""
        deployments = [self.serving.get(variant["deployment"]) for variant in pending["variants"]]
        failed = next((each for each in deployments if each.state is ServingState.FAILED), None)
        if failed:
            status_then = "InService" if document["variants"] else "Failed"
            gone = {each.id for each in deployments if each.state is not ServingState.FAILED}
            with self.records.transaction():
                document["failed"] += [each.id for each in deployments if each.id not in gone]
                document["FailureReason"] = status.why_failed(failed)
                self._remove(gone)
                self._put(document, EndpointStatus=status_then, pending=None)
        elif all(each.state is ServingState.READY for each in deployments):
            with self.records.transaction():
                old = {variant["deployment"] for variant in document["variants"]}
                gone = old | set(document["failed"])
                document |= {CONFIG: pending[CONFIG], "variants": pending["variants"]}
                document.pop("FailureReason", None)
                self._put(document, EndpointStatus="InService", pending=None, failed=[])
                self._share(document)
                self._remove(gone)

    def _share(self, document: Json) -> None:
        weights = {each["deployment"]: _weight(each) for each in document["variants"]}
        self.serving.set_traffic(document[NAME], weights)

    def _remove(self, deployment_ids: Iterable[str]) -> None:
        for each in deployment_ids:
            self.records.delete(FACTS, each)
            self.serving.remove(each)

    def _put(self, document: Json, **changes: Any) -> None:
        document |= {**changes, "LastModifiedTime": time.time()}
        self.records.put(KIND, document[NAME], document)

    def _get(self, name: str) -> Json:
        document = self._find(name)
        if document is None:
            raise invalid(f'Could not find endpoint "{arn(f"endpoint/{name}")}".')
        return document

    def _in_service(self, name: str) -> Json:
        document = self._get(name)
        if document["EndpointStatus"] != "InService":
            raise invalid(
                f'Cannot update endpoint "{document["EndpointArn"]}" in status'
                f" {document['EndpointStatus']}."
            )
        return document

    def _instances(self, deployment_id: str) -> int:
        """Return how many instances of a variant are ready."""
        try:
            return self.serving.figures(deployment_id).replicas
        except NoSuchDeployment:
            return 0


def _ids(document: Json) -> list[str]:
    """Return all deployments of an endpoint."""
    pending = (document.get("pending") or {}).get("variants", [])
    return [*(each["deployment"] for each in document["variants"] + pending), *document["failed"]]


def _weight(variant: Json) -> float:
    return float(variant.get("InitialVariantWeight", 1.0))


def _resize(variant: Json, count: int | None) -> None:
    if count:
        check_size(variant["VariantName"], *size(variant, count))
        variant["InitialInstanceCount"] = count


def _retain_properties(variant: Json, old: Json, request: Json) -> Json:
    """Return the variant with what the request lets it keep of the one that had its name."""
    before = old.get(variant["VariantName"])
    if not request.get("RetainAllVariantProperties") or before is None:
        return variant
    new = {
        each["VariantPropertyType"] for each in request.get("ExcludeRetainedVariantProperties", [])
    }
    if "DataCaptureConfig" in new:
        raise not_implemented("ExcludeRetainedVariantProperties DataCaptureConfig")
    if "DesiredInstanceCount" not in new:
        variant["InitialInstanceCount"] = before["InitialInstanceCount"]
    if "DesiredWeight" not in new:
        variant["InitialVariantWeight"] = _weight(before)
    return variant


def _check_rollout(wish: Json) -> None:
    """Refuse all but the service's default: everything moves at once."""
    if wish.get("RollingUpdatePolicy"):
        raise not_implemented("DeploymentConfig.RollingUpdatePolicy")
    if (wish.get("AutoRollbackConfiguration") or {}).get("Alarms"):
        raise not_implemented("DeploymentConfig.AutoRollbackConfiguration (alarms)")
    routing = (wish.get("BlueGreenUpdatePolicy") or {}).get("TrafficRoutingConfiguration") or {}
    if routing.get("Type", "ALL_AT_ONCE") != "ALL_AT_ONCE":
        raise not_implemented(f"DeploymentConfig: traffic that moves by steps ({routing['Type']})")
