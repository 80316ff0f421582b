"""The lesson's pipeline: the same weights from kfp here, from Vertex AI, and from train()."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from lesson import LessonError
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from tests.served_model import PASSENGERS
from tests.training.changed_copies import copied_folder, table_of_three

TABLE = Path(__file__).parents[2] / "data/titanic_train.csv"
ARGS = {"epochs": 12, "seed": 3, "batch_size": 64}
BUCKET = "pipeline-helper"


@pytest.fixture(scope="module")
def gcp(cloud: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Google's helpers, connected, in an empty folder in which runs/ is made."""
    import GCP_helpers

    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("pipeline"))
    GCP_helpers.connect(bucket=BUCKET)
    yield GCP_helpers
    GCP_helpers.cleanup(dry_run=False)
    os.chdir(before)


def weights(path: str | Path) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = torch.load(path, weights_only=True)["model"]
    return tensors


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], rtol=0, atol=1e-5)


def of_job(job: Any, folder: Path) -> dict[str, torch.Tensor]:
    """The weights that a pipeline's task has written."""
    from google.cloud import storage

    (train,) = [task for task in job.task_details if task.task_name == "train"]
    uri = f"{train.outputs['model'].artifacts[0].uri}/model.pt"
    storage.Blob.from_uri(uri, storage.Client()).download_to_filename(str(folder / "model.pt"))
    return weights(folder / "model.pt")


def test_a_dry_run_shows_the_request_and_what_a_task_costs(
    gcp: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from GCP_helpers.pipeline import pipeline, run_pipeline

    unsent = run_pipeline(pipeline(ARGS, TABLE, better_than=0.5), dry_run=True)
    assert isinstance(unsent, Request)
    assert unsent["PipelineJob"]["parameter_values"]["args"] == ARGS
    assert "each task costs about $0.15 an hour" in capsys.readouterr().out


@pytest.mark.slow  # notebook 20 has these runs too
def test_all_three_ways_give_the_same_weights_and_a_better_model_is_deployed(
    gcp: Any, tmp_path: Path
) -> None:
    from google.cloud import aiplatform

    from GCP_helpers.pipeline import pipeline, run_locally, run_pipeline, tasks
    from lesson.preparation import prepare

    definition = pipeline(ARGS, TABLE, better_than=0.5)
    assert run_locally(definition)["Output"] > 0.5
    (local,) = Path("runs/pipelines/local").glob("*/train/model/model.pt")

    job = run_pipeline(definition)
    assert list(tasks(job).values()) == ["SUCCEEDED"] * 5
    assert_same(weights(local), of_job(job, tmp_path))
    (endpoint,) = aiplatform.Endpoint.list(filter=f"labels.made_by_lesson={BUCKET}")
    answers = gcp.predict(endpoint, PASSENGERS)
    assert {answer["class"] for answer in answers} == {0, 1}

    data = prepare(TABLE, "runs/data")
    train, val = gcp.upload(data.train, data.val)
    run = gcp.train({**ARGS, "train": train, "val": val})
    assert isinstance(run, Run) and run.copy
    assert_same(weights(local), weights(Path(run.copy) / "model.pt"))

    again = run_pipeline(pipeline(ARGS, TABLE, better_than=1.0))
    assert list(tasks(again).values()) == ["SKIPPED"] * 3 + ["NOT_TRIGGERED"]


def test_what_cannot_be_run_is_said_in_a_sentence(gcp: Any) -> None:
    from GCP_helpers.pipeline import pipeline, run_pipeline

    with pytest.raises(LessonError, match="no such file"):
        pipeline(ARGS, "nowhere.csv")
    with pytest.raises(LessonError, match=r"(?s)train failed.*--epochs.*needs a whole"):
        run_pipeline(pipeline({"epochs": "many"}, TABLE))


def test_a_changed_copy_and_a_table_of_ones_own_go_all_the_way(gcp: Any, tmp_path: Path) -> None:
    from google.cloud import aiplatform

    from GCP_helpers.pipeline import pipeline, run_pipeline

    table, mine = table_of_three(tmp_path / "own.csv"), copied_folder(tmp_path / "mine", "classes")
    flags = {"epochs": 100, "hidden": "16,8", "learning_rate": 0.03}
    known = {each.name for each in aiplatform.Endpoint.list()}
    run_pipeline(pipeline(flags, table, better_than=0.6, label="kind", code=mine))
    (endpoint,) = [each for each in aiplatform.Endpoint.list() if each.name not in known]
    (answer,) = gcp.predict(endpoint, [{"size": 25, "noise": 1}])
    assert (answer["label"], len(answer["probabilities"])) == ("high", 3)
