"""LESSON_BUDGET with the paid verbs of both clouds: what would exceed it is not sent."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

from lesson import LessonError
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from lesson.jobs.studies import between
from lesson.money import budget
from testing.endpoints import gone
from tests.helpers.sides import ROOT, Side, both_sides

# The SageMaker SDK leaves its temporary folders to the garbage collector.
pytestmark = [
    pytest.mark.usefixtures("connection"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]


@pytest.fixture(autouse=True)
def loaded(side: Side) -> None:
    """The SDK warns of its own modules when deploy() imports them."""
    with warnings.catch_warnings(action="ignore"):
        import sagemaker.serve
    assert sagemaker.serve


@pytest.mark.usefixtures("quick")
@both_sides(fast="Google")
def test_no_paid_verb_sends_what_the_budget_does_not_hold(
    side: Side, data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = side.helpers
    run = helpers.train(data | {"epochs": 3})
    before = len(helpers.list_jobs())
    monkeypatch.setenv(budget.VARIABLE, "0")
    assert isinstance(helpers.train(data, dry_run=True), Request)  # it costs nothing
    for send in (
        lambda: helpers.train(data),
        lambda: helpers.tune(data, {"learning_rate": between(0.001, 0.1)}, trials=2),
        lambda: helpers.deploy(run),
        lambda: helpers.train_on_vm(data),
    ):
        with pytest.raises(LessonError, match=r"^not sent: LESSON_BUDGET is \$0\.00, "):
            send()
    assert len(helpers.list_jobs()) == before
    monkeypatch.setenv(budget.VARIABLE, "all")
    with pytest.raises(LessonError, match="LESSON_BUDGET is 'all'"):
        helpers.train(data)


@pytest.mark.usefixtures("quick")
@both_sides(fast="Google")
def test_a_job_that_runs_has_used_up_its_first_hour(
    side: Side, data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    spent, hour = budget.local_spending(), side.helpers.estimate_cost(side.machine).usd
    monkeypatch.setenv(budget.VARIABLE, f"{spent + 1.5 * hour}")
    long = side.helpers.train(data | {"sleep": 10_000}, wait=False)
    with pytest.raises(LessonError, match=f"and the first hour of 1 × {side.machine} would add"):
        side.helpers.train(data, wait=False)
    side.helpers.cancel(long)
    assert side.helpers.wait(long).seconds
    again = side.helpers.train(data | {"epochs": 3})  # what the first one did not use is free
    assert isinstance(again, Run)


@both_sides(fast="Amazon")
def test_under_cloud_the_sessions_own_jobs_and_endpoints_count(
    side: Side, data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = side.helpers
    helpers.connect(bucket=f"{data['train'].split('/')[2]}-budget")
    spending = importlib.import_module(f"{helpers.__name__}.spending")
    cloud = side.describe.cloud()
    assert spending.estimate_spending(cloud) == 0
    run = helpers.train(data | {"epochs": 3})
    job = spending.estimate_spending(cloud)
    assert 0 < job < 0.05
    endpoint = helpers.deploy(run)
    assert spending.estimate_spending(cloud) == pytest.approx(
        job + float(side.served_cost[1:]), abs=0.01
    )
    helpers.cleanup(dry_run=False)
    if side.cloud == "Amazon":
        gone(endpoint.endpoint_name)


def test_a_pipeline_is_not_sent_beyond_the_budget(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = importlib.import_module(f"{side.helpers.__name__}.pipeline")
    definition = helpers.pipeline({"epochs": 3}, ROOT / "data/titanic_train.csv")
    monkeypatch.setenv(
        budget.VARIABLE, f"{budget.local_spending() + 0.20}"
    )  # Google: an hour and the fee, no endpoint
    assert isinstance(helpers.run_pipeline(definition, dry_run=True), Request)
    monkeypatch.setattr(
        "lesson.jobs.sending.explain_interrupts", lambda: pytest.fail("it was sent")
    )
    adds = "an endpoint on n1-standard-2 would add" if side.cloud == "Google" else "would add"
    with pytest.raises(LessonError, match=f"the first hour of 1 × .*{adds}"):
        helpers.run_pipeline(definition)
