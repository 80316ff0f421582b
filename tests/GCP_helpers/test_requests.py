"""dry_run=True shows what would be sent, and sends nothing; what is sent is what it showed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import requests

from GCP_helpers import cancel, jobs, train, tune, tuning, wait
from lesson.request import Request
from lesson.studies import Space, between, one_of

Data = dict[str, Any]
SPACE: Space = {"learning_rate": between(0.001, 0.1, scale="log"), "batch_size": one_of(64, 32)}
OWN_IMAGE = "us-central1-docker.pkg.dev/my-project/images/torch:1"


@pytest.fixture
def sent(data: Data, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What has been sent since the data was uploaded."""
    urls: list[str] = []
    send = requests.Session.send

    def noted(session: Any, request: Any, **more: Any) -> Any:
        urls.append(request.url)
        return send(session, request, **more)

    monkeypatch.setattr(requests.Session, "send", noted)
    return urls


def timeless(text: Any) -> str:
    """Without the times in the names, which differ between any two jobs."""
    without = re.sub(r"\d{8}-\d{6}-\d{6}", "TIME", str(text))
    return re.sub(r"aiplatform-[-:.\d]+-", "aiplatform-TIME-", without)


def arrived(job: Any) -> str:
    """What the service has recorded of what a job was asked to do."""
    found = job.to_dict()
    keys = ("displayName", "labels", "trainingTaskInputs", "jobSpec", "studySpec", "trialJobSpec",
            "maxTrialCount", "parallelTrialCount")  # fmt: skip
    return timeless({key: found.get(key) for key in keys})


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"replicas": 2, "gpu": "T4", "gpu_count": 2, "spot": True},
        pytest.param(
            {"container_uri": OWN_IMAGE, "machine": "n1-standard-8"}, marks=pytest.mark.slow
        ),
    ],
)
@pytest.mark.usefixtures("quick")
def test_train_sends_what_the_dry_run_showed(data: Data, sent: list[str], more: Data) -> None:
    shown = train(data | {"epochs": 1}, **more, dry_run=True)
    assert isinstance(shown, Request) and not sent
    run = train(data | {"epochs": 1}, **more, wait=False)
    assert sent and timeless(run.request) == timeless(shown)
    again: Any = jobs.send(shown)
    assert arrived(again) == arrived(run.job)
    assert again.display_name in repr(shown)
    for job in (run, again):
        cancel(job)  # how such a job ends is shown elsewhere


@pytest.mark.usefixtures("quick")
def test_the_printed_request_is_python_that_sends_the_same_job(data: Data) -> None:
    from google.cloud.aiplatform import CustomTrainingJob

    shown = train(data | {"learning_rate": 0.03}, gpu="T4", dry_run=True)
    make, submit = repr(shown).split(").submit(")
    typed = eval(f"{make})", {"CustomTrainingJob": CustomTrainingJob})
    eval(f"typed.submit({submit}", {"typed": typed})
    run = train(data | {"learning_rate": 0.03}, gpu="T4")
    assert arrived(typed) == arrived(run.job) and wait(typed).loss == run.loss


def test_tune_sends_what_the_dry_run_showed(
    data: Data, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "FOLDER", Path(__file__).with_name("trial.py"))
    asked: Data = {"trials": 2, "early_stopping": True, "spot": True, "gpu": "T4"}
    shown = tune({"epochs": 1}, SPACE, **asked, dry_run=True)
    assert isinstance(shown, Request) and not sent
    study = tune({"epochs": 1}, SPACE, **asked)
    assert timeless(study.request) == timeless(shown)
    again: Any = tuning.send(shown)
    assert arrived(again) == arrived(study.job)
    assert "median_automated_stopping_spec" in repr(shown)
    assert "medianAutomatedStoppingSpec" in arrived(again)
