"""A plain script of torch in two replicas, on each cloud, and another user looks for its ports."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest
from google.cloud import aiplatform

from local_cloud.client.control import Status
from local_cloud.engine.isolation import job_network, roots
from tests import stranger
from tests.engine.support import outside
from tests.stranger import SCAN, needs_a_stranger

IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
AMAZONS = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.4-cpu-py311"
PORT = 29_500  # torch's own; on each cloud the script says where the first replica is

# The second replica joins when the other user has had his time, and when the port can be seen here.
SCRIPT = """
import json, os, socket, sys, time
flag, port = sys.argv[1], sys.argv[2]
if "CLUSTER_SPEC" not in os.environ:  # as scripts for SageMaker do
    with open("/opt/ml/input/config/resourceconfig.json") as file:
        config = json.load(file)
    os.environ["RANK"] = str(config["hosts"].index(config["current_host"]))
    os.environ["WORLD_SIZE"] = str(len(config["hosts"]))
    os.environ["MASTER_ADDR"] = config["hosts"][0]
os.environ["MASTER_PORT"] = port
if os.environ["RANK"] == "1":
    while True:
        try:
            socket.create_connection((os.environ["MASTER_ADDR"], int(port))).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    print("listens", os.getpid(), flush=True)
    while not os.path.exists(flag):
        time.sleep(0.05)
import torch.distributed as dist
dist.init_process_group("gloo")
told = [None, None]
dist.all_gather_object(told, os.environ["RANK"])
print("joined", *told, flush=True)
"""


def on_vertex(command: list[str]) -> str:
    """Send a job of two replicas; the folder of its logs."""
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": command},
    }
    job = aiplatform.CustomJob("two", [pool, pool], staging_bucket="gs://networks")
    job.submit()
    return str(job.name)


def on_sagemaker(command: list[str]) -> str:
    """Send a job of two instances; the folder of its logs."""
    name = f"two-{uuid.uuid4().hex[:8]}"
    boto3.client("s3").create_bucket(Bucket="networks")
    boto3.client("sagemaker").create_training_job(
        TrainingJobName=name,
        RoleArn="arn:aws:iam::000000000000:role/SageMakerExecutionRole",
        AlgorithmSpecification={
            "TrainingImage": AMAZONS,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": command,
        },
        OutputDataConfig={"S3OutputPath": "s3://networks/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 2, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 600},
    )
    return name


@pytest.mark.slow
@needs_a_stranger
@pytest.mark.skipif(
    not (job_network.available() and roots.available()),
    reason="no job has a network of its own on this machine",
)
@pytest.mark.parametrize("send", [on_vertex, on_sagemaker])
def test_another_user_cannot_connect_to_the_rendezvous_of_a_plain_script(
    cloud: Status, tmp_path: Path, send: Callable[[list[str]], str]
) -> None:
    script, flag = tmp_path / "script.py", tmp_path / "go"
    script.write_text(SCRIPT, encoding="utf-8")
    name = send(["python3", str(script), str(flag), str(PORT)])
    inner = int(said(cloud, name, "listens"))
    logs = (cloud.home.data / "jobs" / name).glob("*.log")
    (log,) = (each for each in logs if "listens" in each.read_text(encoding="utf-8"))
    second = str(outside(log, inner))
    assert stranger.run(SCAN, second, str(PORT)) == "[] False\n"
    flag.touch()
    assert said(cloud, name, "joined") == "0 1"


def said(cloud: Status, job: str, word: str) -> str:
    """The rest of the first line of a job's logs that begins with this word."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for log in (cloud.home.data / "jobs" / job).glob("*.log"):
            for line in log.read_text(encoding="utf-8").splitlines():
                if line.startswith(word):
                    return line.removeprefix(word).strip()
        time.sleep(0.05)
    raise AssertionError([each.read_text() for each in (cloud.home.data / "jobs" / job).glob("*")])
