"""deploy() and predict(), and what cleanup() says of an endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from GCP_helpers import cleanup, deploy, predict, train
from lesson import LessonError
from lesson.request import Request
from lesson.runs import Run
from tests.served_model import PASSENGERS, own_predictions


@pytest.fixture
def run(data: dict[str, str]) -> Run:
    found = train(data | {"epochs": 3})
    assert isinstance(found, Run)
    return found


def test_a_run_is_deployed_and_answers_until_cleanup(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    from google.cloud import aiplatform

    unsent = deploy(run, dry_run=True, max_replicas=3)
    assert isinstance(unsent, Request)
    assert unsent["deploy"]["max_replica_count"] == 3
    assert unsent["Model.upload"]["artifact_uri"].startswith("gs://")
    assert aiplatform.Endpoint.list() == []
    endpoint = deploy(run)
    assert "about $2.63 a day" in capsys.readouterr().out

    rows, expected = own_predictions(run.folder / "model.pt")
    for instances in (PASSENGERS, rows):
        found = predict(endpoint, instances)
        assert [each["probability"] for each in found] == pytest.approx(expected, abs=1e-6)
        assert [each["class"] for each in found] == [int(each > 0.5) for each in expected]
    assert predict(endpoint.resource_name, PASSENGERS) == predict(endpoint, PASSENGERS)
    with pytest.raises(LessonError, match=r"instance 1: Sex is .*dog.*female, male"):
        predict(endpoint, [PASSENGERS[0], {"Sex": "dog"}])
    with pytest.raises(LessonError, match=r"\[passenger\]"):
        predict(endpoint, PASSENGERS[0])

    second = deploy(run, endpoint=endpoint, traffic=30)
    assert sorted(second.traffic_split.values()) == [30, 70]
    capsys.readouterr()
    cleanup()
    line = next(each for each in capsys.readouterr().out.splitlines() if "Endpoint" in each)
    assert line.startswith("would delete Endpoint serve-nn-")
    assert line.count("1 × n1-standard-2, bills about $2.63 a day") == 2
    cleanup(dry_run=False)
    assert aiplatform.Endpoint.list() == []
    assert aiplatform.Model.list() == []


def test_what_is_no_run_with_results_is_not_deployed(connection: Any, tmp_path: Path) -> None:
    here = Run("this machine", "", 1.0, 0.8, 0.5, str(tmp_path))
    for thing in (here, "train-nn-1"):
        with pytest.raises(LessonError, match=r"wait\(run\)"):
            deploy(thing)  # type: ignore[arg-type]
