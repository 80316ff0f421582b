"""From a deployed model to processes: what each replica runs, and the environment it meets.

Source: Vertex AI's page "Custom container requirements for inference" (read 2026).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from local_cloud.engine.base import Base
from local_cloud.engine.serving.spec import ServingPlan
from local_cloud.engine.spec import JobContext, Replica
from local_cloud.google.rest import ApiError
from local_cloud.google.vertex.resources.schema import require
from local_cloud.json_types import Json

PORT = 8080
START_SECONDS = 300.0
# Also under their older names, gcr.io/cloud-aiplatform/prediction/xgboost-cpu.1-1 say.
PREBUILT = re.compile(
    r"(?:[a-z]+(?:-[a-z]+\d+)?-docker\.pkg\.dev/(?:vertex-ai|cloud-aiplatform)"
    r"|(?:\w+\.)?gcr\.io/cloud-aiplatform)/prediction/"
    r"(\w+)-(?:cpu|gpu)\.([\w-]+)(?::[\w.-]+)?(?:@sha256:\w+)?"
)
# Fields of a DeployedModel that are checked and kept, and have no effect on this machine.
IGNORED_IN = "a deployed model"  # as the table of calls names it
IGNORED = {
    "serviceAccount": "there are no accounts",
    "enableAccessLogging": "every request is logged",
    "disableContainerLogging": "a replica's output is always kept",
    "dedicatedResources.machineSpec": "every replica runs on this machine, on its processor",
    "dedicatedResources.spot": "no replica is taken away",
    "dedicatedResources.requiredReplicaCount": "a model is ready when its first replica is",
    "dedicatedResources.autoscalingMetricSpecs": "replicas grow with the requests at a time",
    "fasterDeploymentConfig": "there is no slower way",
}
ROUTE = re.compile(r"/[!-~]*")
# The package that a prebuilt image serves with, by its name; TorchServe itself is not needed.
PACKAGES = {"sklearn": "sklearn", "xgboost": "xgboost", "pytorch": "torch", "tf2": "tensorflow"}
PROGRAM = Path(__file__).parents[1] / "models" / "prebuilt_server.py"


def check(model: Json, base_of: Callable[[str], Base]) -> None:
    """Refuse a model of which it is not known here what would run."""
    container = model.get("containerSpec")
    if "automl" in model:
        return
    if not container:
        raise ApiError(
            "FAILED_PRECONDITION",
            f"{model['name']} has no serving container: give Model.upload one"
            " (serving_container_image_uri).",
        )
    for field in ("healthRoute", "predictRoute"):
        route = container.get(field) or "/"
        require(ROUTE.fullmatch(route), f"containerSpec.{field}: {route!r} is not a path")
    image = container.get("imageUri", "")
    base = base_of(image)
    if base.command(container.get("command", []), ()):
        return
    if not (match := PREBUILT.fullmatch(image)):
        raise ApiError(
            "FAILED_PRECONDITION",
            f"{base.note}. What it would start is unknown here: give the model a"
            " serving_container_command.",
        )
    package = PACKAGES.get(match[1])
    if package is None or not base.has(package):
        raise ApiError(
            "UNIMPLEMENTED",
            f"not implemented in the local cloud: the prebuilt image {image}, because"
            f" {package or match[1]} is not installed here ({base.note})",
        )


def routes(facts: Json) -> tuple[str, str]:
    """Return the health and the predict route of a deployed model: B1 of the requirements."""
    container = facts["model"].get("containerSpec", {})
    endpoint_id = facts["endpoint"].rsplit("/", 1)[1]
    usual = f"/v1/endpoints/{endpoint_id}/deployedModels/{facts['deployedModel']['id']}"
    return (
        container.get("healthRoute") or usual,
        container.get("predictRoute") or f"{usual}:predict",
    )


def plan(facts: Json, context: JobContext, base: dict[str, str]) -> ServingPlan:
    """Return what the engine has to run for a deployed model."""
    model = facts["model"]
    container = model.get("containerSpec", {})
    image = container.get("imageUri", "")
    health, _ = routes(facts)
    stands_on = context.base(image)
    command = [*stands_on.command(container.get("command", []), container.get("args", []))]
    if "automl" in model:
        command = [
            sys.executable,
            "-m",
            "local_cloud.google.vertex.automl.server",
            json.dumps(model["automl"]),
        ]
        base = base | {"PYTHONPATH": str(Path(__file__).parents[4])}
    elif not command:
        kind = PREBUILT.fullmatch(image)
        assert kind  # check() has seen to it
        command = [sys.executable, str(PROGRAM), kind[1]]
    reads = (Path(model["automl"]["folder"]),) if "automl" in model else ()
    ports = container.get("ports", [])
    wanted = int(ports[0].get("containerPort", PORT)) if ports else PORT
    own = {item["name"]: item.get("value", "") for item in container.get("env", [])}

    def replica(name: str, port: int) -> Replica:
        environment = base | own | variables(facts, port)
        return Replica(name, tuple(command), environment, reads=reads, image=image)

    seconds = float(container.get("deploymentTimeout", "0s").removesuffix("s")) or START_SECONDS
    outside = urlsplit(base["LOCAL_CLOUD_VERTEX_URL"]).port
    assert outside
    return ServingPlan(
        replica,
        port=wanted,
        health=health,
        start_seconds=seconds,
        outside=(outside,),
        notes=(f"local cloud: {stands_on.note}",) if stands_on.note else (),
    )


def variables(facts: Json, port: int) -> dict[str, str]:
    """Return the variables of the prediction container: B1 of the requirements."""
    model, deployed, endpoint = facts["model"], facts["deployedModel"], facts["endpoint"]
    health, predict = routes(facts)
    machine = deployed.get("dedicatedResources", {}).get("machineSpec", {})
    accelerator = machine.get("acceleratorType")
    endpoint_id = endpoint.rsplit("/", 1)[1]
    return {
        "AIP_HTTP_PORT": str(port),
        "AIP_HEALTH_ROUTE": health,
        "AIP_PREDICT_ROUTE": predict,
        "AIP_STORAGE_URI": model.get("artifactUri", ""),
        "AIP_ENDPOINT_ID": endpoint_id,
        "AIP_DEPLOYED_MODEL_ID": deployed["id"],
        "AIP_MODEL_NAME": endpoint_id,
        "AIP_VERSION_NAME": deployed["id"],
        "AIP_PROJECT_NUMBER": endpoint.split("/")[1],
        "AIP_MODE": "PREDICTION",
        "AIP_MODE_VERSION": "1.0.0",
        "AIP_FRAMEWORK": "CUSTOM_CONTAINER",
        "AIP_MACHINE_TYPE": machine.get("machineType", ""),
        **({"AIP_ACCELERATOR_TYPE": accelerator} if accelerator else {}),
        "SERVE_HOST": "127.0.0.1",  # a server that reads it listens to this machine alone
    }
