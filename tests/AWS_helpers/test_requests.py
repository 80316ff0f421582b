"""dry_run=True shows what would be sent, and sends nothing; what is sent is what it showed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from botocore.httpsession import URLLib3Session

from AWS_helpers import cancel, jobs, train, tune, tuning, wait
from AWS_helpers.session import client, sagemaker
from lesson.request import Request
from lesson.studies import Space, between, one_of

Data = dict[str, Any]
SPACE: Space = {"learning_rate": between(0.001, 0.1, scale="log"), "batch_size": one_of(64, 32)}
OWN_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/torch:1"


@pytest.fixture
def sent(data: Data, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has been sent since the data was uploaded."""
    urls: list[str] = []
    send = URLLib3Session.send

    def noted(session: Any, request: Any) -> Any:
        urls.append(request.url)
        return send(session, request)

    monkeypatch.setattr(URLLib3Session, "send", noted)
    return urls


def timeless(text: Any) -> str:
    """Without the times in the names, which differ between any two jobs."""
    names = r"(train|tune)-nn-(\d{8}-\d{6}-\d{6}|\d{6}-\d{14}|\d{6})"
    return re.sub(r"tuning-\d+", "tuning-TIME", re.sub(names, r"\1-nn-TIME", str(text)))


def arrived(description: Data) -> str:
    """What the service has recorded of what a job was asked to do."""
    keys = ("AlgorithmSpecification", "HyperParameters", "InputDataConfig", "OutputDataConfig",
            "ResourceConfig", "StoppingCondition", "CheckpointConfig", "RoleArn",
            "EnableManagedSpotTraining", "TensorBoardOutputConfig",
            "HyperParameterTuningJobConfig", "TrainingJobDefinition")  # fmt: skip
    return timeless({key: description.get(key) for key in keys})


def training_job(name: str) -> Data:
    found: Data = client("sagemaker").describe_training_job(TrainingJobName=name)
    return found


def tuning_job(name: str) -> Data:
    found: Data = client("sagemaker").describe_hyper_parameter_tuning_job(
        HyperParameterTuningJobName=name
    )
    return found


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"replicas": 2, "gpu": "T4", "spot": True},
        pytest.param({"replicas": 2, "torchrun": True}, marks=pytest.mark.slow),
        pytest.param(
            {"container_uri": OWN_IMAGE, "machine": "ml.m5.large"}, marks=pytest.mark.slow
        ),
    ],
)
@pytest.mark.usefixtures("quick")
def test_train_sends_what_the_dry_run_showed(data: Data, sent: list[str], more: Data) -> None:
    flags = data | {"epochs": 1, "tensorboard_dir": "/opt/ml/output/tensorboard"}
    shown = train(flags, **more, dry_run=True)
    assert isinstance(shown, Request) and not sent
    run = train(flags, **more, wait=False)
    assert sent and timeless(run.request) == timeless(shown)
    again = jobs.send(shown).training_job_name
    described = training_job(again)
    assert arrived(described) == arrived(training_job(run.job.training_job_name))
    machine = shown["ModelTrainer"]["compute"].instance_type
    assert described["ResourceConfig"]["InstanceType"] == machine and machine in repr(shown)
    for job in (run, again):
        cancel(job)  # how such a job ends is shown elsewhere


@pytest.mark.usefixtures("quick")
def test_the_printed_request_is_python_that_sends_the_same_job(data: Data) -> None:
    from sagemaker.core.training import configs
    from sagemaker.train import ModelTrainer

    shown = repr(train(data | {"learning_rate": 0.03}, spot=True, dry_run=True))
    assert "Unassigned" not in shown and " object at " not in shown
    names = {**vars(configs), "ModelTrainer": ModelTrainer, "Session": sagemaker}
    make, send = shown.split(").train(")
    trainer = eval(f"{make})", names)
    eval(f"trainer.train({send}", names | {"trainer": trainer})
    typed = trainer.output_data.split("/")[-3]
    run = train(data | {"learning_rate": 0.03}, spot=True)
    assert arrived(training_job(typed)) == arrived(training_job(run.job.training_job_name))
    assert wait(typed).loss == run.loss


def test_tune_sends_what_the_dry_run_showed(
    data: Data, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "FOLDER", Path(__file__).with_name("trial"))
    asked: Data = {"trials": 2, "early_stopping": True, "spot": True, "gpu": "T4"}
    shown = tune({"epochs": 1}, SPACE, **asked, dry_run=True)
    assert isinstance(shown, Request) and not sent
    study = tune({"epochs": 1}, SPACE, **asked)
    assert timeless(study.request) == timeless(shown)
    name = shown["tune"]["job_name"]
    tuning.send(shown)
    assert arrived(tuning_job(name)) == arrived(tuning_job(study.name))
    assert "scaling_type='Logarithmic'" in repr(shown)
