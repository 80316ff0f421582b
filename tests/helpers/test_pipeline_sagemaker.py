"""The lesson's pipeline on SageMaker: the same weights as train(), and a package that answers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
import torch

from lesson import LessonError
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from tests.served_model import PASSENGERS, own_predictions
from tests.training.changed_copies import copied_folder, table_of_three

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "data/titanic_train.csv"
ARGS = {"epochs": 12, "seed": 3, "batch_size": 64}
BUCKET = "pipeline-of-sagemaker"


@pytest.fixture(scope="module")
def aws(cloud: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Amazon's helpers, connected, in an empty folder in which runs/ is made."""
    import AWS_helpers

    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import sagemaker.mlops.workflow.pipeline
        import sagemaker.serve
    assert sagemaker.serve
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("pipeline"))
    AWS_helpers.connect(bucket=BUCKET)
    yield AWS_helpers
    AWS_helpers.cleanup(dry_run=False)
    os.chdir(before)


def weights(path: Path) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["model"]
    return tensors


def test_a_dry_run_shows_the_request_and_makes_no_pipeline(aws: Any) -> None:
    from AWS_helpers.pipeline import pipeline, run_pipeline

    definition = pipeline(ARGS, TABLE, better_than=0.5)
    others = boto3.client("sagemaker").list_pipelines()["PipelineSummaries"]
    unsent = run_pipeline(definition, dry_run=True)
    assert isinstance(unsent, Request) and unsent["start"] == {"parameters": {}}
    assert boto3.client("sagemaker").list_pipelines()["PipelineSummaries"] == others


@pytest.mark.slow  # notebook 20 has these runs too
def test_the_pipeline_trains_as_train_does_and_what_it_registers_answers(
    aws: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from AWS_helpers.pipeline import find_model_package, pipeline, run_pipeline, steps
    from lesson.preparation import prepare

    definition = pipeline(ARGS, TABLE, better_than=0.5)
    execution = run_pipeline(definition)
    assert not isinstance(execution, Request)
    done = dict.fromkeys(("prepare", "train", "evaluate", "better", "register"), "Succeeded")
    assert steps(execution) == done
    assert "evaluate: Succeeded" in capsys.readouterr().out

    data = prepare(TABLE, "runs/data")
    train, val = aws.upload(data.train, data.val)
    run = aws.train({**ARGS, "train": train, "val": val})
    assert isinstance(run, Run)
    job = {step["StepName"]: step for step in execution.list_steps()}["train"]["Metadata"]
    of_step = aws.wait(job["TrainingJob"]["Arn"].rpartition("/")[2])
    expected = weights(run.folder / "model.pt")
    for name, tensor in weights(of_step.folder / "model.pt").items():
        torch.testing.assert_close(tensor, expected[name], rtol=0, atol=1e-5)

    package = find_model_package(execution)
    assert package
    endpoint = aws.deploy(package)
    rows, chances = own_predictions(run.folder / "model.pt")
    probabilities = [each["probability"] for each in aws.predict(endpoint, rows)]
    assert probabilities == pytest.approx(chances, abs=1e-5)
    assert len(aws.predict(endpoint, PASSENGERS)) == len(PASSENGERS)

    # The same steps again, with another threshold: only the condition has something to do.
    again = run_pipeline(definition, parameters={"BetterThan": 1.0})
    assert not isinstance(again, Request)
    used = {step["StepName"] for step in again.list_steps() if "CacheHitResult" in step}
    assert used == {"prepare", "train", "evaluate"}
    assert find_model_package(again) is None and list(steps(again)) == [*steps(execution)][:4]

    capsys.readouterr()
    aws.cleanup()
    listed = capsys.readouterr().out
    assert "pipeline titanic" in listed and "model package group titanic" in listed


def test_what_cannot_be_run_is_said_in_a_sentence(aws: Any) -> None:
    from AWS_helpers.pipeline import pipeline, run_pipeline

    with pytest.raises(LessonError, match="no such file"):
        pipeline(ARGS, "nowhere.csv")
    with pytest.raises(LessonError, match=r"(?s)Failed.*train: .*--epochs.*needs a whole"):
        run_pipeline(pipeline({"epochs": "many"}, TABLE, name="fails"))


def test_a_changed_copy_and_a_table_of_ones_own_go_all_the_way(aws: Any, tmp_path: Path) -> None:
    from AWS_helpers.pipeline import find_model_package, pipeline, run_pipeline

    table, mine = table_of_three(tmp_path / "own.csv"), copied_folder(tmp_path / "mine", "classes")
    flags = {"epochs": 100, "hidden": "16,8", "learning_rate": 0.03}
    own = pipeline(flags, table, better_than=0.6, label="kind", code=mine, name="own")
    package = find_model_package(run_pipeline(own))
    assert package
    (answer,) = aws.predict(aws.deploy(package), [{"size": 25, "noise": 1}])
    assert (answer["label"], len(answer["probabilities"])) == ("high", 3)
