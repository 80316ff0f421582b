"""Under `local` nothing is sent to another machine, nor even tried, whatever the SDKs do.

Each test runs in a process of its own, with a local cloud of its own, in which (and in whose
server) every socket that would leave loopback fails and is written down: see
watched/sitecustomize.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lesson_code import LESSON

ROOT = Path(__file__).parents[1]
Runs = Callable[..., tuple[str, list[str]]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Runs]:
    """Run Python with these words; returns what it printed and where it tried to get to."""
    elsewhere = tmp_path / "elsewhere.txt"
    watched = Path(__file__).parent / "watched"
    own = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    environment = own | {
        "PYTHONPATH": os.pathsep.join([str(watched), str(ROOT / "src")]),
        "ELSEWHERE": str(elsewhere),
        "LOCAL_CLOUD_HOME": str(tmp_path / "home"),
    }
    environment.pop("LOCAL_CLOUD_VERTEX_URL", None)

    def python(*words: str) -> tuple[str, list[str]]:
        command = [sys.executable, *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, elsewhere.read_text().splitlines() if elsewhere.exists() else []

    yield python
    python("-m", "local_cloud", "stop")


TELEMETRY = """
from sagemaker.core.telemetry import telemetry_logging
sending = telemetry_logging._send_telemetry_request(1, [1], None, None, None, "x")
sending.join()
"""


def test_a_training_job_and_all_around_it(run: Runs, tmp_path: Path) -> None:
    """The SDK trains, with its telemetry wanted by a session that knows no configuration.

    Before activate() the telemetry would be sent, and AWS be asked: so the watch sees what leaves.
    """
    (tmp_path / "src").mkdir()
    script = "import os; open(os.environ['SM_MODEL_DIR'] + '/m', 'w').close(); print('trained')"
    (tmp_path / "src" / "task.py").write_text(script)
    code = f"""
import boto3, logging, os, sys
from botocore.config import Config
sys.modules["rfc3987_syntax"] = None  # seconds less
{TELEMETRY}
try:
    boto3.client("sts", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b",
                 config=Config(retries=dict(max_attempts=0))).get_caller_identity()
except Exception as problem:
    print(type(problem).__name__)
with open(os.environ["ELSEWHERE"], "a") as file:
    file.write("activated\\n")
import local_cloud; local_cloud.activate()
logging.basicConfig(stream=sys.stdout, format="%(message)s")
logging.getLogger("sagemaker").setLevel("INFO")
from sagemaker.core.helper.session_helper import Session, get_execution_role
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode
trainer = ModelTrainer(
    sagemaker_session=Session(sagemaker_config={{}}),
    training_image="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8-cpu-py312",
    source_code=SourceCode(source_dir="src", entry_script="task.py"),
    compute=Compute(instance_type="ml.m5.large", instance_count=1),
)
trainer.train(logs=True)
job = trainer._latest_training_job
print(job.training_job_status, get_execution_role(), boto3.client("sts").get_caller_identity()["Account"])
boto3.client("s3").download_file("sagemaker-us-east-1-000000000000",
    job.model_artifacts.s3_model_artifacts.split("/", 3)[3], "model.tar.gz")
print(len(boto3.client("logs").filter_log_events(
    logGroupName="/aws/sagemaker/TrainingJobs", filterPattern="trained")["events"]))
{TELEMETRY}
"""  # noqa: E501
    printed, elsewhere = run("-W", "ignore", "-c", code)
    assert printed.startswith("EndpointConnectionError\n")
    assert elsewhere.pop() == "activated"
    assert set(elsewhere) == {
        "sm-pysdk-t-us-west-2.s3.us-west-2.amazonaws.com",
        "sts.us-east-1.amazonaws.com",
    }
    assert "\ntrained\n" in printed
    assert "Completed arn:aws:iam::000000000000:role/SageMakerExecutionRole 000000000000\n" in (
        printed
    )


def test_experiments_and_tensorboards(run: Runs) -> None:
    """The SDK's trackers ask for the user's credentials, and write where the code did not say."""
    code = """
import local_cloud; local_cloud.activate()
from google.cloud import aiplatform
aiplatform.init(project="my-project", location="us-central1")
board = aiplatform.Tensorboard.create(display_name="own")
for name in ("first", "second"):
    aiplatform.init(experiment=name, experiment_tensorboard=board if name == "first" else None)
    with aiplatform.start_run("run"):
        aiplatform.log_params({"seed": 1})
        aiplatform.log_time_series_metrics({"loss": 0.5})
    backing = aiplatform.Experiment(name).backing_tensorboard_resource_name
    print(name, backing == board.resource_name)
try:
    aiplatform.upload_tb_log("logs", "logs", tensorboard_id=board.name)
except ImportError:
    print("no uploader")
"""
    printed, elsewhere = run("-W", "ignore", "-c", code)
    assert "first True" in printed
    assert "second True" in printed  # the board that was set is that of every experiment after it
    assert "no uploader" in printed
    assert elsewhere == []


@pytest.mark.slow
def test_the_main_job(run: Runs) -> None:
    """Three places, both clouds' SDKs and helpers."""
    code = (
        f"import pathlib, sys; sys.path.insert(0, {str(LESSON)!r});"
        "from tools import compare; sys.exit(compare.main(pathlib.Path('.')))"
    )
    printed, elsewhere = run("-c", code)
    assert "The accuracy is the same in every row" in printed
    assert elsewhere == []
