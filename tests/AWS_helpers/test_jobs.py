"""The verbs on jobs, through the real SDK, against this worker's local cloud."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest

import local_cloud
from AWS_helpers import cancel, train, wait
from AWS_helpers.session import Session, client
from lesson import LessonError
from testing.visitor import Visitor

Data = dict[str, Any]
OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/torch:1"


def test_the_service_itself_reads_the_metrics_and_keeps_all_of_a_job_in_one_place(
    data: Data, connection: Session
) -> None:
    run = train(data | {"epochs": 3, "tensorboard_dir": "/opt/ml/output/tensorboard"})
    metrics = {each.metric_name: each.value for each in run.job.final_metric_data_list}
    assert metrics["validation:accuracy"] == pytest.approx(run.accuracy, abs=1e-4)
    assert metrics["validation:loss"] == pytest.approx(run.loss, abs=1e-4)
    name = run.job.training_job_name
    listed = client("s3").list_objects_v2(Bucket=connection.bucket, Prefix=f"runs/{name}/")
    keys = {each["Key"].removeprefix(f"runs/{name}/") for each in listed["Contents"]}
    assert {"input/code/train_nn.py", "output/model.tar.gz"} <= keys
    events = [key for key in keys if key.startswith("tensorboard-output/events.out.tfevents")]
    assert len(events) == 2  # the curves, and the hyperparameters
    told = run.request["with_tensorboard_output_config"]["tensorboard_output_config"]
    assert told.local_path == "/opt/ml/output/tensorboard"


@pytest.mark.usefixtures("quick")
def test_a_spot_job_keeps_its_checkpoints_in_the_bucket(
    data: Data, connection: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = train(data | {"epochs": 3, "checkpoint_every": 2}, spot=True, wait=False)
    assert "checkpoint_every" not in capsys.readouterr().out
    described = client("sagemaker").describe_training_job(
        TrainingJobName=sent.job.training_job_name
    )
    address = described["CheckpointConfig"]["S3Uri"]
    assert re.fullmatch(rf"{connection.uri}/runs/train-nn-me-[-0-9]+/checkpoints", address)
    assert described["CheckpointConfig"].get("LocalPath") in (None, "/opt/ml/checkpoints")
    assert described["EnableManagedSpotTraining"]
    limits = described["StoppingCondition"]
    assert limits["MaxWaitTimeInSeconds"] >= limits["MaxRuntimeInSeconds"]
    told = sent.request["ModelTrainer"]
    assert told["checkpoint_config"].s3_uri == address
    cancel(sent)
    with suppress(LessonError):  # it may have ended before, in any way
        wait(sent)
    ordinary = train(data | {"epochs": 3}, dry_run=True)
    assert ordinary["ModelTrainer"]["checkpoint_config"] is None


@pytest.mark.parametrize("replicas", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_failure_is_a_few_sentences_with_the_exit_code_and_the_scripts_last_line(
    data: Data, replicas: int
) -> None:
    with pytest.raises(LessonError) as caught:
        train(data | {"batch_size": -3}, replicas=replicas)
    message = str(caught.value)
    assert message.startswith("train-nn-") and " failed. AlgorithmError: train_nn.py: " in message
    assert "--batch_size: needs a whole number from 0 up, not '-3'" in message
    assert "\n" not in message and "Traceback" not in message
    log = Visitor.of(local_cloud.status()).follow(message.partition("exit code: 2. Its log: ")[2])
    assert "needs a whole number from 0 up" in log.text


@pytest.mark.usefixtures("quick")
def test_jobs_that_are_sent_in_one_second_have_names_of_their_own(data: Data) -> None:
    sent = [train(data | {"epochs": 1}, wait=False) for _ in range(2)]
    assert len({run.job.training_job_name for run in sent}) == 2


def test_data_that_is_not_in_the_bucket_is_refused_before_the_job_begins(data: Data) -> None:
    missing = data["train"].replace("train_", "trian_")
    with pytest.raises(LessonError, match=r"ValidationException, No S3 objects .*trian_"):
        train(data | {"train": missing})


def test_the_folder_that_is_sent_whole_holds_no_link() -> None:
    from lesson.jobs.code import FOLDER

    assert not [path for path in FOLDER.rglob("*") if path.is_symlink()]
