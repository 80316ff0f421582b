"""A model on SageMaker that answers: deploy it to an endpoint, and ask for predictions."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from AWS_helpers import images, spending
from AWS_helpers.costs import estimate_endpoint
from AWS_helpers.describe import SageMaker
from AWS_helpers.endpoints import instances_of
from AWS_helpers.session import Session, current_session, refusals
from lesson import LessonError
from lesson.jobs.code import folder_of
from lesson.jobs.request import Request, copy_arguments
from lesson.jobs.runs import Run
from lesson.jobs.watching import pause
from lesson.money import budget
from lesson.services import serving
from lesson.services.sessions import new_name

if TYPE_CHECKING:
    from sagemaker.core.resources import Endpoint, Model

PROGRAM = "inference.py"  # Amazon's image calls its functions; what it imports is beside it
JSON = "application/json"
CALLS = ("create_model", "create_endpoint_config", "create_endpoint", "update_endpoint")  # of boto3
FIRST = "AllTraffic"  # the variant of an endpoint that has one, as the SDK calls it


def deploy(
    run: Run | str,
    machine: str = "ml.m5.large",
    replicas: int = 1,
    *,
    dry_run: bool = False,
    max_replicas: int | None = None,
    endpoint: Any = None,
    traffic: int = 100,
    container_uri: str | None = None,
) -> Endpoint | Request:
    """Deploy the model of a run to an endpoint of SageMaker, and return the endpoint.

    Instead of a run it takes the ARN of a model package, such as one that a pipeline has
    registered. The endpoint costs money until cleanup() removes it. `replicas` instances always
    run; with `max_replicas` more are added under load. `endpoint` is one of an earlier deploy(): of
    its requests the model then gets `traffic` percent. With dry_run=True this returns the request
    alone, unsent. Raises LessonError for a run without results, and for a model that does not
    start. It answers with the code that the run has trained: the network of a copy, too. Nobody has
    run it on the real service yet.
    """
    session = current_session()
    cloud = SageMaker(session)
    package = run if isinstance(run, str) and run.startswith("arn:") else ""
    uri = package or cloud.spec(serving.require_trained(run).job).output
    serving.require_share(endpoint, traffic)
    an_hour = partial(estimate_endpoint, machine, replicas, region=session.region)
    serving.state_price("SageMaker", an_hour)
    image = container_uri or images.serving_image_for(machine, session.region)
    name = new_name("serve")
    old = str(getattr(endpoint, "endpoint_name", endpoint)) if endpoint else None
    variant = _variant(
        name if old else FIRST, name, machine, replicas=replicas, most=max_replicas, weight=traffic
    )
    with refusals(f"deploying {uri}"):
        variants = [*(_variants(session, old, 100 - traffic) if old else []), variant]
        made = (
            _of_package(session, package, name)
            if package
            else _registration(
                session, uri, name, machine=machine, image=image, code=folder_of(run)
            )
        )
        request = Request(
            {
                **made,
                "create_endpoint_config": {
                    "EndpointConfigName": name,
                    "ProductionVariants": variants,
                    "Tags": session.tag_list,
                },
                **_endpoint_call(session, name, old),
            },
            clients=dict.fromkeys(CALLS, 'client("sagemaker")'),
        )
        if dry_run:
            return request
        budget.require(an_hour, budget.DAY, partial(spending.estimate_spending, cloud))
        send(session, request)
        return _ready(session, old or name, name)


def send(session: Session, request: Request) -> None:
    """Send what deploy(..., dry_run=True) returned; the endpoint then starts its instances."""
    api = session.client("sagemaker")
    if "ModelBuilder" in request:
        _build(session, request)
    else:
        api.create_model(**request["create_model"])
    api.create_endpoint_config(**request["create_endpoint_config"])
    if "create_endpoint" in request:
        api.create_endpoint(**request["create_endpoint"])
    else:
        api.update_endpoint(**request["update_endpoint"])


def _build(session: Session, request: Request) -> Model:
    """Pack the model with its code, and register it."""
    with default_region(session.region):
        from sagemaker.serve import ModelBuilder

    # By itself the SDK packs in /tmp/sagemaker, which belongs to the first user of a machine.
    with tempfile.TemporaryDirectory() as folder:
        builder = ModelBuilder(**copy_arguments(request["ModelBuilder"]), model_path=folder)
        model: Model = builder.build(**request["build"])
    return model


def register(run: Run, machine: str = "ml.m5.large", *, container_uri: str | None = None) -> Model:
    """Register the model of a run with SageMaker, and return it; no instance starts.

    deploy() does this too; alone it is for batch transforms. `machine` is the one that it will run
    on. cleanup() deletes the model. Raises LessonError for a run without results.
    """
    session = current_session()
    uri = SageMaker(session).spec(serving.require_trained(run).job).output
    image = container_uri or images.serving_image_for(machine, session.region)
    with refusals(f"registering {uri}"):
        calls = _registration(
            session, uri, new_name("serve"), machine=machine, image=image, code=folder_of(run)
        )
        return _build(session, Request(calls))


def _variant(
    name: str, model: str, machine: str, *, replicas: int, most: int | None, weight: int
) -> dict[str, Any]:
    """Return the variant of an endpoint configuration that serves a model."""
    variant = {
        "VariantName": name,
        "ModelName": model,
        "InstanceType": machine,
        "InitialInstanceCount": replicas,
        "InitialVariantWeight": weight,
    }
    if most is None or most <= replicas:
        return variant
    limits = {"MinInstanceCount": replicas, "MaxInstanceCount": most}
    return variant | {"ManagedInstanceScaling": {"Status": "ENABLED", **limits}}


def _variants(session: Session, endpoint: str, share: int) -> list[dict[str, Any]]:
    """Return the variants of an endpoint as they stand, with a share of its requests in all."""
    api = session.client("sagemaker")
    status = api.describe_endpoint(EndpointName=endpoint)
    config = api.describe_endpoint_config(EndpointConfigName=status["EndpointConfigName"])
    now = {each["VariantName"]: each for each in status["ProductionVariants"]}
    total = sum(each["DesiredWeight"] for each in now.values()) or 1
    return [
        variant
        | {
            "InitialInstanceCount": now[variant["VariantName"]]["DesiredInstanceCount"],
            "InitialVariantWeight": share * now[variant["VariantName"]]["DesiredWeight"] / total,
        }
        for variant in config["ProductionVariants"]
    ]


def _registration(
    session: Session, uri: str, name: str, *, machine: str, image: str, code: Path
) -> dict[str, dict[str, Any]]:
    """Return the calls that pack the model with its code, and register it."""
    from sagemaker.core.training.configs import SourceCode

    return {
        "ModelBuilder": {
            "image_uri": image,
            "s3_model_data_url": uri,
            "source_code": SourceCode(source_dir=os.path.relpath(code), entry_script=PROGRAM),
            "instance_type": machine,
            "role_arn": session.role,
            "sagemaker_session": session.sagemaker,
            "dependencies": {"auto": False},
            "log_level": 30,  # logging.WARNING
        },
        "build": {"model_name": name, "tags": session.tag_list},
    }


def _of_package(session: Session, arn: str, name: str) -> dict[str, dict[str, Any]]:
    """Return the call that makes a model of a package, which says itself what serves it."""
    create = {
        "ModelName": name,
        "Containers": [{"ModelPackageName": arn}],
        "ExecutionRoleArn": session.role,
        "Tags": session.tag_list,
    }
    return {"create_model": create}


def _endpoint_call(session: Session, name: str, endpoint: str | None) -> dict[str, dict[str, Any]]:
    """Return the call that has an endpoint serve a configuration: this one, or a new one."""
    if endpoint:
        return {"update_endpoint": {"EndpointName": endpoint, "EndpointConfigName": name}}
    create = {"EndpointName": name, "EndpointConfigName": name, "Tags": session.tag_list}
    return {"create_endpoint": create}


@contextmanager
def default_region(region: str) -> Iterator[None]:
    """Have a default region, which the SDK's module needs when it is imported."""
    name = "AWS_DEFAULT_REGION"
    known = os.environ.get(name)
    os.environ[name] = region
    try:
        yield
    finally:
        del os.environ[name]
        if known is not None:
            os.environ[name] = known


def _ready(session: Session, name: str, config: str) -> Endpoint:
    """Wait until the endpoint answers with this configuration; raise LessonError if it never will.

    After an update that has failed, an endpoint has its old configuration again.
    """
    api = session.client("sagemaker")
    status = api.describe_endpoint(EndpointName=name)
    while status["EndpointStatus"] in ("Creating", "Updating"):
        pause()
        status = api.describe_endpoint(EndpointName=name)
    if (status["EndpointStatus"], status["EndpointConfigName"]) != ("InService", config):
        raise LessonError(f"{name}: {status.get('FailureReason', status['EndpointStatus'])}")
    return _endpoint(session, name)


def _endpoint(session: Session, name: str) -> Endpoint:
    from sagemaker.core.resources import Endpoint

    endpoint: Any = Endpoint.get(name, session=session.boto, region=session.region)
    return endpoint


def predict(endpoint: Any, instances: Iterable[Any]) -> list[dict[str, Any]]:
    """Return a prediction for each instance: its class with the probability, or the value.

    An instance is a raw passenger, {"Sex": "female", ...}, or a prepared row of numbers. `endpoint`
    is what deploy() returned, or its name. Raises LessonError with the index and the reason of each
    instance that is refused.
    """
    session = current_session()
    body = json.dumps({"instances": serving.as_list(instances)})
    with refusals("predicting"):
        target_endpoint = _endpoint(session, endpoint) if isinstance(endpoint, str) else endpoint
        answer = target_endpoint.invoke(body=body, content_type=JSON, accept=JSON).body.read()
    return serving.whole_classes(json.loads(answer)["predictions"])


# ---- what still bills ----------------------------------------------------------------------------
def costs_of(session: Session, endpoint: str) -> str:
    """Say what an endpoint's instances cost a day."""
    words = []
    for machine, replicas in instances_of(session.client("sagemaker"), endpoint):
        cost = serving.billing(partial(estimate_endpoint, machine, replicas, region=session.region))
        words.append(f"{replicas} × {machine}, {cost}")
    return "; ".join(words) or "without an instance, bills nothing"
