"""The verbs on jobs that mean the same on both clouds."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import local_cloud
from lesson import LessonError
from lesson.runs import Run
from tests.helpers.sides import Side, both_sides

Data = dict[str, Any]
pytestmark = pytest.mark.usefixtures("connection")


@both_sides(fast="Google")
def test_the_list_has_the_newest_first_and_a_job_is_known_by_its_name_or_the_sdks_object(
    side: Side, data: Data, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two replicas train one model, and cost twice as much an hour."""
    verbs = side.helpers
    sent = [verbs.train(data | {"epochs": 3}, replicas=count, wait=False) for count in (1, 2)]
    assert side.two_cost in capsys.readouterr().out
    names = [side.name(run.job) for run in sent]
    table = verbs.list_jobs().head(2)
    assert list(table["name"]) == names[::-1]  # and no job behind another
    assert list(table["replicas"]) == [2, 1]
    one, two = verbs.wait(names[0]), verbs.wait(sent[1].job)
    assert set(verbs.list_jobs().head(2)["state"]) == {"succeeded"}
    assert one.accuracy == verbs.wait(sent[0]).accuracy is not None
    assert (one.artefacts, one.machine) == (sent[0].artefacts, sent[0].machine)
    assert two.replicas == two.metrics["world_size"] == 2
    rows = [replica["rows"] for replica in two.metrics["replicas"]]
    assert rows[0]["stop"] == rows[1]["start"]
    assert list(verbs.list_jobs(mine=True).head(2)["name"]) == names[::-1]
    spent = importlib.import_module(f"{verbs.__name__}.spending").spent
    whole = spent()
    # The list is cut, the budget counts all.
    monkeypatch.setattr(f"{verbs.__name__}.listing.NEWEST", 1)
    assert len(verbs.list_jobs(mine=True)) == 1 and spent() == whole
    monkeypatch.undo()
    verbs.connect(bucket=f"{data['train'].split('/')[2]}-of-somebody-else")  # in the same account
    assert not set(names) & set(verbs.list_jobs(mine=True)["name"])
    assert list(verbs.list_jobs().head(2)["name"]) == names[::-1]


def test_a_cancelled_job_ends_and_has_no_results(
    side: Side, data: Data, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = side.helpers.train(data | {"epochs": 10_000_000, "patience": 0}, wait=False)
    side.helpers.cancel(sent)
    run = side.helpers.wait(sent)
    assert run.seconds and run.accuracy is None
    said = f"was cancelled ({side.cancelled}); its results are not fetched"
    assert said in capsys.readouterr().out
    side.helpers.cancel(side.name(sent.job))
    assert "had already ended: cancelled" in capsys.readouterr().out


def test_a_job_that_is_not_there_is_said_to_be_missing(side: Side) -> None:
    for verb in (side.helpers.wait, side.helpers.cancel):
        with pytest.raises(LessonError, match=r"^there is no job nope; list_jobs\(\) shows"):
            verb("nope")


def test_what_is_no_job_is_said_to_be_none(side: Side) -> None:
    for verb in (side.helpers.wait, side.helpers.cancel):
        with pytest.raises(LessonError, match="None is no job: give what train"):
            verb(None)
    with pytest.raises(LessonError, match="the run on this machine was no job"):
        side.helpers.wait(Run("this machine", "x86_64", 1.0, 0.8, 0.4, "runs/here"))


@both_sides(fast="Google")
def test_a_local_cloud_that_was_stopped_is_said_to_be_and_comes_back_with_all_jobs(
    side: Side, data: Data
) -> None:
    run = side.helpers.train(data | {"epochs": 3}, wait=False)
    side.helpers.wait(run)
    local_cloud.stop()
    with pytest.raises(LessonError, match=r"^listing the jobs: the local cloud was stopped at "):
        side.helpers.list_jobs()
    side.helpers.connect()
    assert side.helpers.list_jobs()["name"][0] == side.name(run.job)
