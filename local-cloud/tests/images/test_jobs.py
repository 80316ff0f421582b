"""Jobs and endpoints of a pulled image run in its environment, in both clouds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest

from local_cloud.client.control import Status
from local_cloud.client.home import Home
from local_cloud.images.pulled_images import PulledImages
from local_cloud.images.table import BY_NAME
from tests.amazon.sagemaker.support import ROLE
from tests.images.small_packages import pulled

VERTEX = "us-docker.pkg.dev/vertex-ai"
TRAINING = f"{VERTEX}/training/xgboost-cpu.2-1:latest"
SERVING = f"{VERTEX}/prediction/xgboost-cpu.1-7:latest"
AMAZONS = "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-scikit-learn:1.4-2-cpu-py3"
BUCKET = "pulled-images"
# Says whether torch is here. The end of the first replica ends the job: it waits for the other's.
TWO = """
import importlib.util, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
fresh = folder / f"fresh-{os.environ['RANK']}"
fresh.write_text(str(bool(importlib.util.find_spec("torch"))))
fresh.rename(folder / os.environ["RANK"])
while not (folder / "1").exists():
    time.sleep(0.02)
"""
SERVE = """
import http.server, json, os
import xgboost
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"predictions": [xgboost.version]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()
address = ("127.0.0.1", int(os.environ["AIP_HTTP_PORT"]))
http.server.ThreadingHTTPServer(address, Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def aiplatform(cloud: Status) -> ModuleType:
    from google.cloud import aiplatform, storage

    storage.Client().create_bucket(BUCKET)
    aiplatform.init(project="my-project", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    module: ModuleType = aiplatform
    return module


@pytest.fixture(scope="module", autouse=True)
def images(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    names = (
        "training/xgboost-cpu.2-1",
        "prediction/xgboost-cpu.1-7",
        "sagemaker-scikit-learn:1.4-2",
    )
    folder, kept = tmp_path_factory.mktemp("index"), PulledImages(cloud.home.images)
    with pulled(folder, kept, [BY_NAME[name] for name in names]):
        yield


def log(home: Home, name: str, replica: str) -> str:
    (path,) = (home.data / "jobs").glob(f"*{name}*/{replica}.log")
    return path.read_text()


def test_a_package_of_vertex_ai_runs_in_it(
    cloud: Status, aiplatform: ModuleType, tmp_path: Path
) -> None:
    script = tmp_path / "task.py"
    script.write_text(
        "import importlib.util as u, xgboost; print(xgboost.version, u.find_spec('torch'))"
    )
    job = aiplatform.CustomJob.from_local_script(
        display_name="pulled", script_path=str(script), container_uri=TRAINING
    )
    job.run()
    said = log(cloud.home, job.name, "workerpool0-0")
    assert f"local cloud: {TRAINING} was pulled as an environment: Python 3." in said
    assert "2.1.3 None\n" in said


def test_two_pools_run_in_two_images(cloud: Status, aiplatform: ModuleType) -> None:
    from google.cloud import storage

    command = ["python", "-c", TWO, f"/gcs/{BUCKET}/two"]

    def pool(image: str) -> dict[str, Any]:
        return {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "container_spec": {"image_uri": image, "command": command},
        }

    job = aiplatform.CustomJob("two", worker_pool_specs=[pool(TRAINING), pool("me/own:1")])
    job.run()
    for rank, text in (("0", "False"), ("1", "True")):
        blob = storage.Blob.from_uri(f"gs://{BUCKET}/two/{rank}", storage.Client())
        assert blob.download_as_text() == text
    said = log(cloud.home, job.name, "workerpool0-0")
    assert "me/own:1 is named, not pulled; this is Python" in said


def test_an_endpoint_of_vertex_ai_serves_in_it(aiplatform: ModuleType) -> None:
    model = aiplatform.Model.upload(
        display_name="pulled",
        serving_container_image_uri=SERVING,
        serving_container_command=["python", "-c", SERVE],
        serving_container_predict_route="/predict",
        serving_container_health_route="/health",
    )
    endpoint = model.deploy(machine_type="n1-standard-2")
    assert endpoint.predict(instances=[0]).predictions == ["1.7.0"]
    endpoint.delete(force=True)
    model.delete()


def test_a_job_of_sagemaker_runs_in_it(cloud: Status) -> None:
    look = "import importlib.util as u, scikit_learn as s; print(s.version, u.find_spec('torch'))"
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    sagemaker, name = boto3.client("sagemaker"), "pulled-job"
    sagemaker.create_training_job(
        TrainingJobName=name,
        AlgorithmSpecification={
            "TrainingImage": AMAZONS,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "-c", look],
        },
        RoleArn=ROLE,
        OutputDataConfig={"S3OutputPath": f"s3://{BUCKET}/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 60},
    )
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName=name, WaiterConfig={"Delay": 1}
    )
    said = log(cloud.home, name, "algo-1")
    assert f"local cloud: {AMAZONS} was pulled as an environment: Python 3." in said
    assert said.splitlines()[-1].endswith("1.4.2 None")
