"""deploy() and predict(), and what cleanup() says of an endpoint, on both clouds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import boto3
import pytest

from lesson import LessonError
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from testing.endpoints import gone
from tests.helpers.sides import Side
from tests.served_model import PASSENGERS, own_predictions

# Where ModelBuilder packs by itself: a second user of the machine cannot write there.
SDK_FOLDER = Path("/tmp/sagemaker/model-builder")
# The SageMaker SDK leaves its temporary folders to the garbage collector.
pytestmark = [
    pytest.mark.usefixtures("connection"),
    pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning"),
]


@pytest.fixture
def run(side: Side, data: dict[str, str]) -> Run:
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import sagemaker.serve
    assert sagemaker.serve
    trained = side.helpers.train(data | {"epochs": 3})
    assert isinstance(trained, Run)
    return trained


def limits(request: Request) -> tuple[int, int]:
    """The least and the most replicas that a request asks for."""
    if "deploy" in request:
        return request["deploy"]["min_replica_count"], request["deploy"]["max_replica_count"]
    variant = request["create_endpoint_config"]["ProductionVariants"][-1]
    scaling = variant["ManagedInstanceScaling"]
    assert scaling["MinInstanceCount"] == variant["InitialInstanceCount"]
    return scaling["MinInstanceCount"], scaling["MaxInstanceCount"]


def split(side: Side, endpoint: Any) -> list[float]:
    """The shares of an endpoint's models, the smallest first."""
    if side.cloud == "Google":
        return sorted(endpoint.traffic_split.values())
    endpoint_now = boto3.client("sagemaker").describe_endpoint(EndpointName=endpoint.endpoint_name)
    return sorted(each["CurrentWeight"] for each in endpoint_now["ProductionVariants"])


@pytest.mark.slow  # notebook 14 has it too
def test_a_run_is_deployed_and_answers_until_cleanup(
    side: Side, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    helpers = side.helpers
    unsent = helpers.deploy(run, dry_run=True, replicas=2, max_replicas=3)
    assert isinstance(unsent, Request) and limits(unsent) == (2, 3)
    assert "at list price" in capsys.readouterr().out
    endpoint = helpers.deploy(run)
    assert f"about {side.served_cost} a day" in capsys.readouterr().out

    rows, expected = own_predictions(run.folder / "model.pt")
    for instances in (PASSENGERS, rows):
        predictions = helpers.predict(endpoint, instances)
        assert [each["probability"] for each in predictions] == pytest.approx(expected, abs=1e-6)
        assert [each["class"] for each in predictions] == [int(each > 0.5) for each in expected]
    name = getattr(endpoint, "endpoint_name", None) or endpoint.resource_name
    assert helpers.predict(name, PASSENGERS) == helpers.predict(endpoint, PASSENGERS)
    with pytest.raises(LessonError, match=r"instance 1: Sex is .*dog.*female, male"):
        helpers.predict(endpoint, [PASSENGERS[0], {"Sex": "dog"}])
    with pytest.raises(LessonError, match=r"\[passenger\]"):
        helpers.predict(endpoint, PASSENGERS[0])

    second = helpers.deploy(run, endpoint=endpoint, traffic=30, max_replicas=2)
    assert split(side, second) == [30, 70]
    answers = [helpers.predict(second, PASSENGERS) for _ in range(9)]
    assert answers == [answers[0]] * 9  # both have the same model
    with pytest.raises(LessonError, match=r"traffic=130"):
        helpers.deploy(run, endpoint=second, traffic=130)
    with pytest.raises(LessonError, match=r"the first model of an endpoint gets all"):
        helpers.deploy(run, traffic=30)

    in_tmp = set(SDK_FOLDER.glob("*"))
    model = helpers.register(run)
    assert set(SDK_FOLDER.glob("*")) == in_tmp
    capsys.readouterr()
    helpers.cleanup()
    said = capsys.readouterr().out
    assert f"odel {getattr(model, 'model_name', '') or model.display_name}\n" in said
    line = next(each for each in said.splitlines() if "ndpoint serve" in each)
    assert line.count(f"1 × {side.serving_machine}, bills about {side.served_cost} a day") == 2
    helpers.cleanup(dry_run=False)
    capsys.readouterr()
    helpers.cleanup()
    assert capsys.readouterr().out == "nothing is left of the lesson here\n"
    if side.cloud == "Amazon":
        gone(str(name))


def test_what_is_no_run_with_results_is_not_deployed(side: Side, tmp_path: Path) -> None:
    here = Run("this machine", "", 1.0, 0.8, 0.5, str(tmp_path))
    for thing in (here, "train-nn-1"):
        with pytest.raises(LessonError, match=r"wait\(run\)"):
            side.helpers.deploy(thing)
