"""A local cloud with one of everything, made by the real SDKs: what the pages then show."""

from __future__ import annotations

import io
import sys
import time
from types import ModuleType
from typing import Any, NamedTuple

import boto3
import numpy as np
from google.cloud import storage

BUCKET, S3_BUCKET = "filled-gs", "filled-s3"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
TRAINING_IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312"
ROLE = "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
HOSTILE = "<img src=x onerror=alert(1)>\"'.html"
# A picture of one red pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0"
    "000003010100c9fe92ef0000000049454e44ae426082"
)
TRIAL = """
import argparse, json, os
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
parser.add_argument("--size", type=float)
parser.add_argument("--optimiser")
flags = parser.parse_args()
value = 0.8 - abs(flags.rate - 0.01) - flags.size / 1000 + 0.05 * (flags.optimiser == "adam")
line = {"timestamp": 1.0, "trial": os.environ["CLOUD_ML_TRIAL_ID"], "accuracy": str(value),
        "global_step": "1", "checkpoint_path": ""}
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "w") as file:
    file.write(json.dumps(line) + "\\n")
"""
# Answers each request with what it was sent.
SERVER = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(b"{}")
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b'{"predictions": [0.5]}')
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
HTTPServer(("127.0.0.1", int(os.environ["AIP_HTTP_PORT"])), Handler).serve_forever()
"""
EPOCHS = """
import json, math, os
print("replica 0 of 1, rows 0 to 711")
for epoch in range(1, 61):
    loss = 0.35 + 0.4 * math.exp(-epoch / 15)
    print(f"epoch {epoch:5d}  loss {loss:.4f}  validation loss {loss + 0.04:.4f}  "
          f"accuracy {0.82 - 0.3 * math.exp(-epoch / 12):.4f}  {epoch / 10:.1f} s")
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(folder)
with open(folder + "metrics.json", "w") as file:
    replica = {"rank": 0, "rows": [0, 712], "bytes": {"parameters": 4096, "optimiser": 8192}}
    json.dump({"replicas": [replica]}, file)
"""


SHORT = """
for epoch in (1, 2): print(f'epoch {epoch} loss {1 / epoch:.2f} accuracy 0.8')
with open('/opt/ml/model/metrics.json', 'w') as file:
    file.write('{"replicas": [{"rank": 0, "bytes": {"parameters": 1024, "optimiser": 2048}}]}')
"""


def _task(*after: str) -> dict[str, Any]:
    return {"componentRef": {"name": "comp"}, "dependentTasks": list(after)}


SPEC = {
    "schemaVersion": "2.1.0",
    "pipelineInfo": {"name": "by-hand"},
    "components": {"comp": {"executorLabel": "exec"}},
    "deploymentSpec": {
        "executors": {"exec": {"container": {"image": "python:3.11", "command": ["true"]}}}
    },
    "root": {
        "dag": {
            "tasks": {
                "prepare": _task(),
                "train": _task("prepare"),
                "judge": _task("train"),
                "report": _task("prepare"),
            }
        }
    },
}


class Filled(NamedTuple):
    """Names of what was made."""

    job: str
    training_job: str
    study: str
    experiment: str
    board: str
    model: str
    endpoint: Any  # the SDK's


def pool(code: str) -> dict[str, Any]:
    """One replica that runs this."""
    return {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c", code]},
    }


def fill(aiplatform: ModuleType) -> Filled:
    """Make one of everything, and wait until it is done."""
    files()
    job = aiplatform.CustomJob(display_name="titanic-nn", worker_pool_specs=[pool(EPOCHS)])
    job.run()
    study = tuned(aiplatform)
    experiment, board = tracked(aiplatform)
    command = [sys.executable, "-c", SERVER]
    model = aiplatform.Model.upload(
        display_name="titanic-model",
        serving_container_image_uri="us-docker.pkg.dev/my-project/images/echo:1",
        serving_container_command=command,
    )
    endpoint = model.deploy(machine_type="n1-standard-2", deployed_model_display_name="blue")
    for _ in range(3):
        endpoint.predict(instances=[[1.0]])
    name = job.resource_name.rpartition("/")[2]
    model_name = f"{model.resource_name}@1"
    return Filled(name, train(), study, experiment, board, model_name, endpoint)


def files() -> None:
    """Buckets of both clouds, with a file of each kind."""
    bucket = storage.Client(project="filled").create_bucket(BUCKET)
    arrays = io.BytesIO()
    np.savez(arrays, X_train=np.zeros((712, 7), np.float32), y_train=np.zeros(712, np.float32))
    contents = {
        "data/titanic.csv": b'Name,Age\n"Owen, <b>Mr</b>",22\nAnna,38\n',
        "data/train.npz": arrays.getvalue(),
        "pictures/pixel.png": PIXEL,
        "metrics.json": b'{"accuracy": 0.82, "epochs": 60}',
        "notes.txt": b"loss fell <script>alert(1)</script>\n",
        "model.bin": b"\x00\x01\x02",
        HOSTILE: b"<script>alert(document.cookie)</script>",
        "not-a-picture.png": b"<html><script>alert(1)</script>",
    }
    for name, content in contents.items():
        bucket.blob(name).upload_from_string(content)
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=S3_BUCKET)
    s3.put_object(Bucket=S3_BUCKET, Key="data/titanic.csv", Body=contents["data/titanic.csv"])


def tuned(aiplatform: ModuleType) -> str:
    """A study of six trials; returns its resource name."""
    from google.cloud.aiplatform import hyperparameter_tuning as hpt

    study = aiplatform.HyperparameterTuningJob(
        display_name="titanic-tuning",
        custom_job=aiplatform.CustomJob(display_name="trial", worker_pool_specs=[pool(TRIAL)]),
        metric_spec={"accuracy": "maximize"},
        parameter_spec={
            "rate": hpt.DoubleParameterSpec(min=0.001, max=0.1, scale="log"),
            "size": hpt.IntegerParameterSpec(min=8, max=64, scale="linear"),
            "optimiser": hpt.CategoricalParameterSpec(values=["adam", "sgd"]),
        },
        max_trial_count=6,
        parallel_trial_count=3,
    )
    study.run()
    return str(study.resource_name)


def tracked(aiplatform: ModuleType) -> tuple[str, str]:
    """An experiment of two runs with curves; returns its context's and its TensorBoard's name."""
    board = aiplatform.Tensorboard.create(display_name="curves")
    aiplatform.init(experiment="titanic-runs", experiment_tensorboard=board)
    for rate in (0.01, 0.1):
        aiplatform.start_run(f"rate-{rate}".replace(".", "-"))
        aiplatform.log_params({"learning_rate": rate, "epochs": 5})
        for step in range(1, 6):
            aiplatform.log_time_series_metrics({"loss": 1 / (step + rate)}, step=step)
        aiplatform.log_metrics({"accuracy": 0.8 + rate})
        aiplatform.end_run()
    context = aiplatform.Experiment("titanic-runs").resource_name
    return context, f"{board.resource_name}/experiments/titanic-runs"


def training_request(name: str, code: str) -> dict[str, Any]:
    """The request for a training job that runs this."""
    return {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": TRAINING_IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-c", code],
        },
        "OutputDataConfig": {"S3OutputPath": f"s3://{S3_BUCKET}/out"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 10,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
    }


def train() -> str:
    """A training job of SageMaker's; returns its name."""
    sagemaker = boto3.client("sagemaker")
    sagemaker.create_training_job(**training_request("titanic-nn-sagemaker", SHORT))
    sagemaker.create_model(
        ModelName="titanic-model",
        PrimaryContainer={"Image": TRAINING_IMAGE},
        ExecutionRoleArn=ROLE,
    )
    name = "titanic-nn-sagemaker"
    while sagemaker.describe_training_job(TrainingJobName=name)["TrainingJobStatus"] != "Completed":
        time.sleep(0.05)
    return name


def pipeline(name: str, bucket: str) -> str:
    """Begin a pipeline job of four tasks; returns its resource name."""
    from google.cloud import aiplatform
    from google.cloud.aiplatform_v1.types import PipelineJob

    client = aiplatform.PipelineJob._empty_constructor().api_client
    config = {"gcs_output_directory": f"gs://{bucket}/root"}
    job = PipelineJob(display_name=name, pipeline_spec=SPEC, runtime_config=config)
    parent = "projects/console-project/locations/us-central1"
    return str(client.create_pipeline_job(parent=parent, pipeline_job=job).name)
