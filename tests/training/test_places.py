"""One network, its layers shared by two replicas, stopped on the way: the same model everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import AWS_helpers.session
import GCP_helpers.session
import local_cloud
from local_cloud import Status
from tests.training.pool import Pool, train_as, weights_of
from tests.training.support import save, table, train

FLAGS = {"epochs": 120, "patience": 0, "hidden": "8,6", "batch_size": 10}
MORE = {"parallelism": "model", "checkpoint_every": 10}


def as_flags(named: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(item for name, value in named.items() for item in (f"--{name}", value))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("data") / "data.npz", **table(rows=41))


@pytest.fixture(scope="module")
def undisturbed(
    pool: Pool, archive: Path, tmp_path_factory: pytest.TempPathFactory
) -> torch.Tensor:
    """The weights that two replicas give here, which are those of one to 1e-4."""
    folder = tmp_path_factory.mktemp("undisturbed")
    given = ("--train", archive, "--val", archive, *as_flags(FLAGS | MORE))
    given += ("--model_dir", folder / "two", "--checkpoint_dir", folder / "kept")
    assert {ended.code for ended in pool.run(2, train_as, given)} == {0}
    train(archive, folder / "one", *as_flags(FLAGS))
    weights = weights_of(folder / "two")
    torch.testing.assert_close(weights, weights_of(folder / "one"), rtol=0, atol=1e-4)
    return weights


@pytest.fixture(params=[GCP_helpers, AWS_helpers], ids=["Vertex AI", "SageMaker"])
def helpers(
    request: pytest.FixtureRequest, cloud: Status, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    """One side's verbs, connected to this worker's local cloud."""
    monkeypatch.setattr(request.param.session, "_session", None)
    monkeypatch.setenv("LESSON_TARGET", "local")
    monkeypatch.chdir(tmp_path)
    request.param.connect()
    return request.param


@pytest.mark.slow
def test_a_spot_job_of_two_replicas_that_share_layers_is_stopped_and_ends_with_the_same_weights(
    helpers: Any, archive: Path, undisturbed: torch.Tensor
) -> None:
    (uri,) = helpers.upload(archive, prefix="data")
    local_cloud.rehearse(60)
    args = {"train": uri, "val": uri, **FLAGS, **MORE}
    run = helpers.train(args, replicas=2, spot=True)
    assert run.interruptions == 1
    assert run.metrics["world_size"] == run.replicas == 2
    assert run.metrics["configuration"]["parallelism"] == "model"
    (resumed,) = run.metrics["epochs"]["resumed"]
    assert 60 <= resumed <= FLAGS["epochs"]
    rows = [replica["rows"] for replica in run.metrics["replicas"]]
    assert rows == [{"start": 0, "stop": 41}] * 2
    log = (run.folder / "training.log").read_text()
    assert log.index("epoch    60") < log.index("resumes from a checkpoint")
    assert torch.equal(weights_of(run.folder), undisturbed)
