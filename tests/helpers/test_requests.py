"""dry_run=True shows what would be sent, and sends nothing; what is sent is what it showed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import boto3
import pytest
import requests
from botocore.httpsession import URLLib3Session

import AWS_helpers.tuning
import GCP_helpers.tuning
from AWS_helpers.jobs import name_of_sent
from AWS_helpers.session import current_session
from GCP_helpers import describe as google
from lesson.jobs import lookup
from lesson.jobs.request import Request
from lesson.jobs.studies import Space, between, one_of
from tests.helpers.sides import Side

Data = dict[str, Any]
OWN_IMAGE = "example.com/images/torch:1"
SPACE: Space = {"learning_rate": between(0.001, 0.1, scale="log"), "batch_size": one_of(64, 32)}
# What the services record of what a job was asked to do.
ASKED = {
    "Google": (
        "displayName", "labels", "trainingTaskInputs", "jobSpec", "studySpec", "trialJobSpec",
        "maxTrialCount", "parallelTrialCount",
    ),
    "Amazon": (
        "AlgorithmSpecification", "HyperParameters", "InputDataConfig", "OutputDataConfig",
        "ResourceConfig", "StoppingCondition", "CheckpointConfig", "RoleArn",
        "EnableManagedSpotTraining", "TensorBoardOutputConfig",
        "HyperParameterTuningJobConfig", "TrainingJobDefinition",
    ),
}  # fmt: skip
pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def sent(data: Data, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What either SDK has sent since the data was uploaded."""
    urls: list[str] = []

    def note(transport: type) -> None:
        send = transport.send

        def noted(session: Any, request: Any, **more: Any) -> Any:
            urls.append(request.url)
            return send(session, request, **more)

        monkeypatch.setattr(transport, "send", noted)

    note(requests.Session)
    note(URLLib3Session)
    return urls


def timeless(text: Any) -> str:
    """Without the times in the names, which differ between any two jobs."""
    ours = r"(train|tune)-nn-\w+-(\d{8}-\d{6}-\d{6}|\d{6}-\d{14}|\d{14}|\d{6})"
    without = re.sub(ours, r"\1-nn-TIME", str(text))
    return re.sub(r"aiplatform-[-:.\d]+-|tuning-\d+", "CODE-TIME", without)  # in the SDKs' names


def description(side: Side, name: str) -> Data:
    """What the service says of a job or study."""
    client = boto3.client("sagemaker")
    described: Data
    if side.cloud == "Google":
        described = lookup.job_of(google.cloud(), name).to_dict()
    elif name.startswith("tune"):
        described = client.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName=name)
    else:
        described = client.describe_training_job(TrainingJobName=name)
    return described


def arrived(side: Side, name: str) -> str:
    """What the service has recorded of what a job or study was asked to do."""
    described = description(side, name)
    return timeless({key: described.get(key) for key in ASKED[side.cloud]})


@pytest.mark.parametrize(
    ("side", "more"),
    [
        pytest.param("Google", {}, marks=pytest.mark.slow),
        pytest.param("Amazon", {}, marks=pytest.mark.slow),
        ("Google", {"replicas": 2, "gpu": "T4", "gpu_count": 2, "spot": True}),
        ("Amazon", {"replicas": 2, "gpu": "T4", "spot": True}),
        pytest.param("Amazon", {"replicas": 2, "torchrun": True}, marks=pytest.mark.slow),
        pytest.param("Google", {"container_uri": OWN_IMAGE, "machine": "n1-standard-8"},
                     marks=pytest.mark.slow),
        pytest.param("Amazon", {"container_uri": OWN_IMAGE, "machine": "ml.m5.large"},
                     marks=pytest.mark.slow),
    ],
    indirect=["side"],
)  # fmt: skip
def test_train_sends_what_the_dry_run_showed(
    side: Side, data: Data, sent: list[str], more: Data
) -> None:
    verbs = side.helpers
    flags = data | {"epochs": 1}
    if side.cloud == "Amazon":
        flags["tensorboard_dir"] = "/opt/ml/output/tensorboard"
    shown = verbs.train(flags, **more, dry_run=True)
    assert isinstance(shown, Request) and not sent
    run = verbs.train(flags, **more, wait=False)
    assert sent and timeless(run.request) == timeless(shown)
    again = side.jobs.send(shown)
    assert arrived(side, side.name(again)) == arrived(side, side.name(run.job))
    if side.cloud == "Google":
        assert again.display_name in repr(shown)
    else:
        machine = shown["ModelTrainer"]["compute"].instance_type
        described = description(side, side.name(again))
        assert described["ResourceConfig"]["InstanceType"] == machine and machine in repr(shown)
    for job in (run, again):
        verbs.cancel(job)  # how such a job ends is shown elsewhere


def typed_by_google(shown: str) -> str:
    """Send a printed request as a reader does who types it, and return the job's name."""
    from google.cloud.aiplatform import CustomJob

    make, submit = shown.split(").submit(")
    job = eval(f"{make})", {"CustomJob": CustomJob})
    eval(f"job.submit({submit}", {"job": job})
    return str(job.display_name)


def typed_by_amazon(shown: str) -> str:
    """Send a printed request as a reader does who types it, and return the job's name."""
    from sagemaker.core.training import configs
    from sagemaker.train import ModelTrainer

    assert "Unassigned" not in shown and " object at " not in shown
    session = current_session().sagemaker
    names = {**vars(configs), "ModelTrainer": ModelTrainer, "Session": lambda: session}
    make, send = shown.split(").train(")
    trainer = eval(f"{make})", names)
    eval(f"trainer.train({send}", names | {"trainer": trainer})
    return name_of_sent(trainer)


@pytest.mark.parametrize(
    ("side", "typed", "more"),
    [("Google", typed_by_google, {"gpu": "T4"}), ("Amazon", typed_by_amazon, {"spot": True})],
    indirect=["side"],
)
def test_the_printed_request_is_python_that_sends_the_same_job(
    side: Side, data: Data, typed: Callable[[str], str], more: Data
) -> None:
    verbs = side.helpers
    name = typed(repr(verbs.train(data | {"learning_rate": 0.03}, **more, dry_run=True)))
    run = verbs.train(data | {"learning_rate": 0.03}, **more)
    assert arrived(side, name) == arrived(side, side.name(run.job))
    assert verbs.wait(name).loss == run.loss


@pytest.mark.parametrize(
    ("side", "send", "in_the_request", "in_the_service"),
    [
        (
            "Google",
            GCP_helpers.tuning.send,
            "median_automated_stopping_spec",
            "medianAutomatedStoppingSpec",
        ),
        (
            "Amazon",
            AWS_helpers.tuning.send,
            "scaling_type='Logarithmic'",
            "'ScalingType': 'Logarithmic'",
        ),
    ],
    indirect=["side"],
)
def test_tune_sends_what_the_dry_run_showed(
    side: Side,
    data: Data,
    sent: list[str],
    send: Callable[[Request], Any],
    in_the_request: str,
    in_the_service: str,
) -> None:
    asked: Data = {"trials": 2, "early_stopping": True, "spot": True, "gpu": "T4"}
    shown = side.helpers.tune({"epochs": 1}, SPACE, **asked, dry_run=True)
    assert isinstance(shown, Request) and not sent
    study = side.helpers.tune({"epochs": 1}, SPACE, **asked)
    assert timeless(study.request) == timeless(shown)
    again = arrived(side, side.name(send(shown)))
    assert again == arrived(side, study.name)
    assert in_the_request in repr(shown) and in_the_service in again
