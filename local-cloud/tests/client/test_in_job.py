"""The SDKs in a job find the local cloud, whichever cloud's job it is, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from google.cloud import aiplatform, storage
from google.cloud.aiplatform.hyperparameter_tuning import DoubleParameterSpec

from local_cloud.client.control import Status
from local_cloud.client.home import CHECKOUT

PROJECT = "of-the-job"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"
Send = Callable[[str], list[Any]]


@pytest.fixture(scope="module")
def buckets(cloud: Status) -> None:
    """A bucket and a model of the job's project, others of another project, a bucket of S3."""
    for project in (PROJECT, "of-others"):
        storage.Client(project=project).create_bucket(f"in-{project}")
        aiplatform.Model.upload(
            serving_container_image_uri=IMAGE, display_name=f"in-{project}", project=project
        )
    boto3.client("s3").create_bucket(Bucket="in-s3")


def on_vertex(code: str) -> list[Any]:
    """Run code in a job of Vertex AI, in the project; the JSON lines that it printed."""
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": IMAGE, "command": ["python", "-c", code]},
    }
    job = aiplatform.CustomJob(
        "probe", [pool], project=PROJECT, location="europe-west4", staging_bucket="gs://unused"
    )
    job.run()
    return printed(Path(os.environ["LOCAL_CLOUD_HOME"], "data/jobs", job.name))


def on_sagemaker(code: str) -> list[Any]:
    """The same in a training job of SageMaker."""
    client = boto3.client("sagemaker")
    name = f"probe-{os.urandom(4).hex()}"
    boto3.client("s3").put_object(Bucket="in-s3", Key=f"{name}/probe.py", Body=code)
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://in-s3/{name}"}
    client.create_training_job(
        TrainingJobName=name,
        AlgorithmSpecification={
            "TrainingImage": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "/opt/ml/input/data/code/probe.py"],
        },
        InputDataConfig=[{"ChannelName": "code", "DataSource": {"S3DataSource": source}}],
        RoleArn="arn:aws:iam::000000000000:role/SageMakerExecutionRole",
        OutputDataConfig={"S3OutputPath": "s3://in-s3/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 600},
    )
    client.get_waiter("training_job_completed_or_stopped").wait(
        TrainingJobName=name, WaiterConfig={"Delay": 0.2, "MaxAttempts": 1000}
    )
    return printed(Path(os.environ["LOCAL_CLOUD_HOME"], "data/jobs", name))


def printed(folder: Path) -> list[Any]:
    (log,) = folder.glob("*.log")
    text = log.read_text()
    values = [json.loads(line) for line in text.splitlines() if line.startswith(("[", "{", '"'))]
    assert values, text
    return values


@pytest.fixture(params=[on_vertex, on_sagemaker])
def run(request: pytest.FixtureRequest, buckets: None) -> Send:
    function: Send = request.param
    return function


CLIENTS = """
import json
import boto3
from google.cloud import aiplatform, storage
from google.cloud.storage import Client
from google.auth.transport.requests import AuthorizedSession
from google.auth.credentials import AnonymousCredentials

def refused(call):
    try:
        call()
    except Exception as problem:
        return "was stopped" in str(problem)

print(json.dumps([
    [bucket["Name"] for bucket in boto3.client("s3").list_buckets()["Buckets"]],
    boto3.client("sts", endpoint_url="https://sts.amazonaws.com").get_caller_identity()["Account"],
    aiplatform.CustomJob.list(filter="display_name=none"),
    storage.Client().bucket("none").exists(),
]))
print(json.dumps([
    refused(lambda: boto3.client("s3", endpoint_url="https://192.0.2.1").list_buckets()),
    refused(lambda: AuthorizedSession(AnonymousCredentials()).get("https://192.0.2.1")),
]))
"""


@pytest.mark.parametrize(
    "run", [on_vertex, pytest.param(on_sagemaker, marks=pytest.mark.slow)], indirect=True
)
def test_clients_of_both_clouds_find_the_local_cloud(run: Send) -> None:
    here, elsewhere = run(CLIENTS)
    assert "in-s3" in here[0] and here[1:] == ["000000000000", [], False]
    assert elsewhere == [True, True]


CHILD = """
import boto3, json
sts = boto3.client("sts", endpoint_url="https://sts.amazonaws.com")
print(json.dumps([sts.get_caller_identity()["Account"]]))
"""


def test_so_do_those_of_a_process_that_the_job_starts(run: Send) -> None:
    (said,) = run(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])")
    assert said == ["000000000000"]


REPORT = """
import os
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "w") as file:
    json.dump({"trial": "1", "loss": "0.5", "global_step": "1"}, file)
"""


def test_so_do_those_of_a_trial_that_is_forked(buckets: None, tmp_path: Path) -> None:
    """Such a process has not started as a Python of its own."""
    script = tmp_path / "task.py"
    script.write_text(CHILD + REPORT)
    job = aiplatform.CustomJob.from_local_script(
        "probe", str(script), IMAGE, project=PROJECT, staging_bucket=f"gs://in-{PROJECT}"
    )
    tuning = aiplatform.HyperparameterTuningJob(
        "probe", job, metric_spec={"loss": "minimize"}, max_trial_count=1, parallel_trial_count=1,
        parameter_spec={"x": DoubleParameterSpec(min=0, max=1, scale="linear")}, project=PROJECT,
    )  # fmt: skip
    tuning.run()
    trial = tuning.trials[0].custom_job.rpartition("/")[2]
    (said,) = printed(Path(os.environ["LOCAL_CLOUD_HOME"], "data/jobs", trial))
    assert said == ["000000000000"]


def test_the_secret_is_in_no_log(cloud: Status, run: Send) -> None:
    """Scripts print their environment, and so does the driver of SageMaker's SDK."""
    (said,) = run("import json, os; print(json.dumps(dict(os.environ)))")
    assert said["STORAGE_EMULATOR_HOST"].endswith("/SECRET" + "*" * 37)
    assert cloud.home.secret() not in json.dumps(said)


def test_hypertune_outside_a_trial_reports_into_the_jobs_own_folder(run: Send) -> None:
    """Its default is below /tmp, where another user may have laid a link."""
    (said,) = run(
        "import hypertune, json, os\n"
        "path = hypertune.HyperTune().metric_path\n"
        "print(json.dumps([path.startswith(os.environ['TMPDIR'])]))"
    )
    assert said == [True]


def test_a_job_on_vertex_works_in_its_own_project_and_region(buckets: None) -> None:
    """Its project is the one that it was sent to, by its id; the number is in a variable, too."""
    (seen,) = on_vertex("""
import json, os
from google.cloud import aiplatform, storage
from google.cloud.aiplatform import initializer
print(json.dumps([
    os.environ["GOOGLE_CLOUD_PROJECT"],
    [bucket.name for bucket in storage.Client().list_buckets()],
    [bucket.name for bucket in storage.Client(os.environ["CLOUD_ML_PROJECT_ID"]).list_buckets()],
    initializer.global_config.project,
    initializer.global_config.location,
    [model.display_name for model in aiplatform.Model.list(location="us-central1")],
]))
""")
    mine = f"in-{PROJECT}"
    assert seen == [PROJECT, [mine], [mine], PROJECT, "europe-west4", [mine]]


def test_a_python_that_imports_no_sdk_imports_nothing_of_the_local_cloud() -> None:
    """The hook is in every Python of a job, most of which have no use for it."""
    hook = CHECKOUT / "local_cloud" / "client" / "in_job.py"
    code = f"""
        import sys, runpy
        before = set(sys.modules)
        runpy.run_path({str(hook)!r})
        import json
        print(sorted(name for name in sys.modules if name.startswith("local_cloud")))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
