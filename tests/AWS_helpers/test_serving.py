"""deploy() and predict(), and what cleanup() says of an endpoint."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import boto3
import pytest

from AWS_helpers import cleanup, deploy, predict, train
from lesson import LessonError
from lesson.request import Request
from lesson.runs import Run
from tests.local_cloud.sagemaker.serving import gone
from tests.served_model import PASSENGERS, own_predictions

# The SDK leaves its temporary folders to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:Implicitly cleaning up:ResourceWarning")


@pytest.fixture
def run(data: dict[str, str]) -> Run:
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import sagemaker.serve
    assert sagemaker.serve
    found = train(data | {"epochs": 3})
    assert isinstance(found, Run)
    return found


def test_a_run_is_deployed_and_answers_until_cleanup(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    client = boto3.client("sagemaker")
    unsent = deploy(run, dry_run=True, replicas=2)
    assert isinstance(unsent, Request)
    assert unsent["deploy"]["initial_instance_count"] == 2
    assert unsent["ModelBuilder"]["s3_model_data_url"].endswith("/output/model.tar.gz")
    assert "pytorch-inference:" in unsent["ModelBuilder"]["image_uri"]
    assert client.list_endpoints(NameContains="serve-nn-")["Endpoints"] == []
    endpoint = deploy(run)
    assert not isinstance(endpoint, Request)
    assert "about $2.76 a day" in capsys.readouterr().out

    rows, expected = own_predictions(run.folder / "model.pt")
    for instances in (PASSENGERS, rows):
        found = predict(endpoint, instances)
        assert [each["probability"] for each in found] == pytest.approx(expected, abs=1e-6)
        assert [each["class"] for each in found] == [int(each > 0.5) for each in expected]
    assert predict(str(endpoint.endpoint_name), PASSENGERS) == predict(endpoint, PASSENGERS)
    with pytest.raises(LessonError, match=r"instance 1: Sex is .*dog.*female, male"):
        predict(endpoint, [PASSENGERS[0], {"Sex": "dog"}])
    with pytest.raises(LessonError, match=r"\[passenger\]"):
        predict(endpoint, PASSENGERS[0])

    capsys.readouterr()
    cleanup()
    said = capsys.readouterr().out
    name = endpoint.endpoint_name
    assert f"would delete endpoint {name} (1 × ml.m5.large, bills about $2.76 a day)" in said
    assert f"would delete endpoint configuration {name}" in said
    assert f"would delete model {name}" in said
    cleanup(dry_run=False)
    left = [
        *(each["EndpointConfigName"] for each in client.list_endpoint_configs()["EndpointConfigs"]),
        *(each["ModelName"] for each in client.list_models()["Models"]),
    ]
    assert name not in left
    gone(str(name))


def test_what_is_no_run_with_results_is_not_deployed(connection: Any, tmp_path: Path) -> None:
    here = Run("this machine", "", 1.0, 0.8, 0.5, str(tmp_path))
    for thing in (here, "train-nn-1"):
        with pytest.raises(LessonError, match=r"wait\(run\)"):
            deploy(thing)  # type: ignore[arg-type]
