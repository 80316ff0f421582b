"""The real SDK, version 3, against this worker's local cloud: jobs as learners send them."""

from __future__ import annotations

import io
import json
import logging
import tarfile
import uuid
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import local_cloud
from local_cloud.client.control import Status
from tests import hidden
from tests.amazon.sagemaker.instances.test_drivers import JOIN
from tests.amazon.sagemaker.jobs.test_spot import TRAINS
from tests.amazon.sagemaker.support import IMAGE

BUCKET = "learners-bucket"
# The SDK leaves its temporary folders to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


@pytest.fixture(scope="session")
def sdk(cloud: Status) -> SimpleNamespace:
    """The SDK's names, and its clients, set up as a learner does it."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import boto3
        from sagemaker import train
        from sagemaker.core import resources
        from sagemaker.core.training import configs
        from sagemaker.train import distributed

    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    return SimpleNamespace(
        s3=s3,
        sagemaker=boto3.client("sagemaker"),
        TrainingJob=resources.TrainingJob,
        configs=configs,
        ModelTrainer=train.ModelTrainer,
        Torchrun=distributed.Torchrun,
    )


def trainer(sdk: SimpleNamespace, folder: Path, script: str, **options: Any) -> Any:
    """A trainer of the script task.py; instances, distributed and so on as for ModelTrainer."""
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "task.py").write_text(script)
    instances = options.pop("instances", 1)
    code = options.pop("source_code", {"entry_script": "task.py"})
    options.setdefault("base_job_name", f"job-{uuid.uuid4().hex[:8]}")  # the SDK adds the second
    return sdk.ModelTrainer(
        training_image=IMAGE,
        source_code=sdk.configs.SourceCode(source_dir=str(source), **code),
        compute=sdk.configs.Compute(instance_type="ml.m5.large", instance_count=instances),
        output_data_config=sdk.configs.OutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        **options,
    )


def send(ours: Any, **options: Any) -> Any:
    """Send the trainer's job; returns it."""
    ours.train(wait=False, **options)
    return ours._latest_training_job


def model(sdk: SimpleNamespace, job: Any) -> dict[str, bytes]:
    """The files of the job's model archive."""
    address = job.model_artifacts.s3_model_artifacts
    bucket, _, key = address.removeprefix("s3://").partition("/")
    body = sdk.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        return {
            member.name: file.read() for member in archive if (file := archive.extractfile(member))
        }


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("instances", "launcher"),
    [
        (2, False),
        pytest.param(2, True, marks=SLOW),
        pytest.param(1, False, marks=SLOW),
        pytest.param(1, True, marks=SLOW),
    ],
)
def test_a_learners_job(
    sdk: SimpleNamespace, tmp_path: Path, instances: int, launcher: bool
) -> None:
    (tmp_path / "train.npz").write_text("data")
    ours = trainer(
        sdk,
        tmp_path,
        JOIN,
        instances=instances,
        distributed=sdk.Torchrun() if launcher else None,
        hyperparameters={"epochs": 3, "flag": "text"},
        base_job_name="a-learners",
    )
    data = sdk.configs.InputData(channel_name="train", data_source=str(tmp_path / "train.npz"))
    job = send(ours, input_data_config=[data])
    job.wait(poll=1)
    assert job.training_job_status == "Completed"
    seen = json.loads(model(sdk, job)["seen.json"])
    assert seen["world"] == instances
    assert seen["args"] == {"epochs": 3, "flag": "text"}
    assert json.loads(seen["environment"]["SM_HPS"]) == {"epochs": 3, "flag": "text"}


def test_a_job_does_not_find_the_local_cloud(sdk: SimpleNamespace, tmp_path: Path) -> None:
    job = send(trainer(sdk, tmp_path, hidden.SCRIPT))
    job.wait(poll=1)
    assert job.training_job_status == "Completed"


# Has its words from a command, a client of its own, a folder of events, and something to say.
ALL = f"""
import os, sys
import boto3
print("the first and the last line")
with open(os.environ["SM_MODEL_DIR"] + "/said", "w") as file:
    file.write(sys.argv[1])
account = boto3.client("sts").get_caller_identity()["Account"]
boto3.client("s3").put_object(Bucket="{BUCKET}", Key="from-a-job", Body=account.encode())
with open("/opt/ml/output/tensorboard/events.out.tfevents.1", "w") as file:
    file.write("scalars")
"""


def test_a_command_its_log_its_events_and_its_own_clients(
    sdk: SimpleNamespace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours = trainer(sdk, tmp_path, ALL, source_code={"command": "python task.py 'two words'"})
    wanted = sdk.configs.TensorBoardOutputConfig(s3_output_path=f"s3://{BUCKET}/tensorboard")
    job = send(ours.with_tensorboard_output_config(wanted))
    with caplog.at_level(logging.INFO):
        job.wait(poll=1, logs=True)
    assert "the first and the last line" in caplog.text  # the SDK prints it as the job runs
    assert model(sdk, job.refresh()) == {"said": b"two words"}

    def read(key: str) -> Any:
        return sdk.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    assert read("from-a-job") == b"000000000000"
    own = f"tensorboard/{job.training_job_name}/tensorboard-output/events.out.tfevents.1"
    assert read(own) == b"scalars"


@pytest.mark.slow
def test_a_spot_job_is_interrupted_and_the_sdk_waits_for_its_end(
    sdk: SimpleNamespace, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    local_cloud.rehearse(10)
    ours = trainer(
        sdk,
        tmp_path,
        TRAINS.replace("EPOCHS", "40"),
        checkpoint_config=sdk.configs.CheckpointConfig(s3_uri=f"s3://{BUCKET}/{tmp_path.name}"),
        stopping_condition=sdk.configs.StoppingCondition(
            max_runtime_in_seconds=600, max_wait_time_in_seconds=600
        ),
    )
    ours.compute.enable_managed_spot_training = True
    with caplog.at_level(logging.INFO):
        ours.train(wait=True, logs=True)
    job = ours._latest_training_job
    assert job.training_job_status == "Completed"
    said = [line for line in caplog.text.splitlines() if "epoch " in line or "local cloud" in line]
    assert sum("spot stop rehearsed at epoch 10" in line for line in said) == 1
    assert sum("attempt 2" in line for line in said) == 1
    for epoch in range(1, 41):  # none is left out, and none is done again
        assert sum(f"epoch {epoch:4d} " in line for line in said) == 1
    ended_job = sdk.sagemaker.describe_training_job(TrainingJobName=job.training_job_name)
    assert [step["Status"] for step in ended_job["SecondaryStatusTransitions"]] == [
        "Starting",
        "Downloading",
        "Training",
        "Interrupted",
        "Starting",
        "Downloading",
        "Training",
        "Uploading",
        "Completed",
    ]


def test_a_failure_says_why(sdk: SimpleNamespace, tmp_path: Path) -> None:
    from sagemaker.core.utils.exceptions import FailedStatusError

    ours = trainer(sdk, tmp_path, "raise ValueError('no rows in train.npz')")
    with pytest.raises(FailedStatusError, match=r"ValueError: no rows in train\.npz, exit code: 1"):
        send(ours).wait(poll=1)


def test_a_job_is_stopped_and_found_in_the_list(sdk: SimpleNamespace, tmp_path: Path) -> None:
    ours = trainer(sdk, tmp_path, "import time; time.sleep(600)", base_job_name="to-be-stopped")
    job = send(ours)
    job.stop()
    job.wait(poll=1)
    assert job.refresh().training_job_status == "Stopped"
    everything = sdk.TrainingJob.get_all(name_contains="to-be-stopped")
    assert [one.training_job_name for one in everything] == [job.training_job_name]


def test_a_bad_request_is_a_client_error(sdk: SimpleNamespace) -> None:
    with pytest.raises(sdk.sagemaker.exceptions.ClientError) as refusal:
        sdk.sagemaker.describe_training_job(TrainingJobName="no")
    assert refusal.value.response["Error"]["Code"] == "ValidationException"
    assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
