"""A model on Vertex AI that answers: deploy it to an endpoint, and ask for predictions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from GCP_helpers import images, spending
from GCP_helpers.costs import estimate_endpoint
from GCP_helpers.describe import VertexAI
from GCP_helpers.session import Session, current_session, refusals
from GCP_helpers.storage import send, split
from lesson.jobs.request import Request, Result
from lesson.jobs.runs import Run
from lesson.money import budget
from lesson.services import serving
from lesson.services.sessions import new_name

if TYPE_CHECKING:
    from google.cloud import aiplatform

# A prediction container finds the model's folder in AIP_STORAGE_URI, with the programs beside the
# model. So any image will do that has torch and google-cloud-storage: the one of the training, too.
# Google's images for training have no HTTP server: the container installs one as it starts.
START = """
import os, runpy, subprocess, sys, tempfile
from google.cloud.storage import Client
bucket, _, folder = os.environ["AIP_STORAGE_URI"].removeprefix("gs://").partition("/")
os.chdir(tempfile.mkdtemp())
for blob in Client().list_blobs(bucket, prefix=folder.rstrip("/") + "/", delimiter="/"):
    if blob.name.endswith(".py"):
        blob.download_to_filename(os.path.basename(blob.name))
try:
    import starlette, uvicorn
except ImportError:
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "starlette", "uvicorn", "httptools"], check=True)
sys.argv = ["serve_nn.py"]
runpy.run_path("serve_nn.py", run_name="__main__")
""".strip()


def deploy(
    run: Run,
    machine: str = "n1-standard-2",
    replicas: int = 1,
    *,
    dry_run: bool = False,
    max_replicas: int | None = None,
    endpoint: Any = None,
    traffic: int = 100,
    container_uri: str | None = None,
) -> aiplatform.Endpoint | Request:
    """Deploy the model of a run to an endpoint of Vertex AI, and return the endpoint.

    It answers with the code that the run has trained: the network of a copy, too.
    It costs money until cleanup() removes it. `replicas` always run; with `max_replicas` more are
    added under load. `endpoint` is one of an earlier deploy(): of its requests the model then gets
    `traffic` percent. With dry_run=True this returns the request alone, unsent. Raises LessonError
    for a run without results, and for a model that does not start. Nobody has run it on the real
    service yet.
    """
    from google.cloud import aiplatform

    session = current_session()
    cloud = VertexAI(session)
    uri = cloud.spec(serving.require_trained(run).job).output.rstrip("/")
    serving.require_share(endpoint, traffic)
    an_hour = partial(estimate_endpoint, machine, replicas, region=session.region)
    serving.state_price("Vertex AI", an_hour)
    image = container_uri or images.image_for(None)
    images.warn(image)
    name = new_name("serve")
    request = Request(
        {
            "Endpoint.create": {"display_name": name, "labels": session.labels},
            "Model.upload": _registration(session, uri, name, image=image),
            "deploy": {
                "endpoint": endpoint or Result("Endpoint.create"),
                "deployed_model_display_name": name,
                "machine_type": machine,
                "min_replica_count": replicas,
                "max_replica_count": max(replicas, max_replicas or replicas),
                "traffic_percentage": traffic,
            },
        }
    )
    if endpoint:
        del request["Endpoint.create"]
    if dry_run:
        return request

    budget.require(an_hour, budget.DAY, partial(spending.estimate_spending, cloud))
    with refusals(f"deploying {uri}"):
        _send_programs(session, uri, run)
        model = aiplatform.Model.upload(**request["Model.upload"])
        if not endpoint:
            endpoint = aiplatform.Endpoint.create(**request["Endpoint.create"])
        deployed: aiplatform.Endpoint = model.deploy(**request["deploy"] | {"endpoint": endpoint})
    return deployed


def register(run: Run, *, container_uri: str | None = None) -> aiplatform.Model:
    """Register the model of a run with Vertex AI, and return it; no machine starts.

    deploy() does this too; alone it is for batch predictions. cleanup() deletes the model. Raises
    LessonError for a run without results.
    """
    from google.cloud import aiplatform

    session = current_session()
    uri = VertexAI(session).spec(serving.require_trained(run).job).output.rstrip("/")
    image = container_uri or images.image_for(None)
    images.warn(image)
    with refusals(f"registering {uri}"):
        _send_programs(session, uri, run)
        model: aiplatform.Model = aiplatform.Model.upload(
            **_registration(session, uri, new_name("serve"), image=image)
        )
    return model


def _send_programs(session: Session, uri: str, run: Run) -> None:
    """Put the program that answers beside the model, and whatever else of the code is missing."""
    for program in serving.missing_programs(run):
        bucket, name = split(f"{uri}/{program.name}")
        send(session.storage.bucket(bucket).blob(name), program)


def _registration(session: Session, uri: str, name: str, *, image: str) -> dict[str, Any]:
    """Return the arguments of Model.upload, which registers a model with our program."""
    return {
        "display_name": name,
        "artifact_uri": uri,
        "serving_container_image_uri": image,
        "serving_container_command": ["python3", "-c", START],
        "labels": session.labels,
    }


def predict(endpoint: Any, instances: Iterable[Any]) -> list[dict[str, Any]]:
    """Return a prediction for each instance: its class with the probability, or the value.

    An instance is a raw passenger, {"Sex": "female", ...}, or a prepared row of numbers. `endpoint`
    is what deploy() returned, or its name. Raises LessonError with the index and the reason of each
    instance that is refused.
    """
    from google.cloud.aiplatform import Endpoint

    current_session()
    asked = serving.as_list(instances)
    with refusals("predicting"):
        target_endpoint = Endpoint(endpoint) if isinstance(endpoint, str) else endpoint
        return serving.whole_classes(target_endpoint.predict(instances=asked).predictions)


# ---- what still bills ----------------------------------------------------------------------------
def costs_of(endpoint: aiplatform.Endpoint, region: str) -> str:
    """Say what an endpoint's machines cost a day; nothing for one without a model."""
    words = []
    for each in endpoint.list_models():
        used = each.dedicated_resources
        machine, replicas = used.machine_spec.machine_type, int(used.min_replica_count)
        cost = serving.billing(partial(estimate_endpoint, machine, replicas, region=region))
        words.append(f"{replicas} × {machine}, {cost}")
    return "; ".join(words) or "without a model, bills nothing"
