"""The script under the versions of torch that the services' images hold, and nothing but numpy.

Vertex AI's prebuilt containers hold torch 2.4, SageMaker's 2.10. `make test-all` makes an
environment of each.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from testing.other_environments import tool
from tests.torch_versions.running import (
    SCRIPT,
    codes,
    flags,
    free_port,
    on_sagemaker,
    on_vertex,
    run,
    said,
    save_table,
    started,
    wait_until,
    weights,
)

pytestmark = pytest.mark.slow

ONCE = ("--epochs", 20, "--batch_size", 16)
# Long enough to be stopped on the way, short enough to be ended.
LONG = ("--epochs", 1000, "--patience", 0, "--checkpoint_every", 50)


@pytest.fixture(params=["2.4", "2.10"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def python(version: str) -> str:
    """The interpreter of the environment with this version of torch."""
    return tool(f"torch{version}", "python")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """41 rows: not to be shared out evenly among 2."""
    return save_table(tmp_path_factory.mktemp("data") / "data.npz")


@pytest.fixture(scope="module")
def reference(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> torch.Tensor:
    """The weights of one replica under the lesson's own torch."""
    folder = tmp_path_factory.mktemp("reference") / "run"
    assert run(sys.executable, *flags(archive, folder, *ONCE)).code == 0
    return weights(folder)


def torchrun() -> list[str]:
    """The words that start a script twice, by torch's own launcher."""
    address = ["--master_addr=127.0.0.1", f"--master_port={free_port()}"]
    return ["-m", "torch.distributed.run", "--nproc_per_node=2", *address]


def metrics(folder: Path) -> dict[str, Any]:
    written: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return written


def test_the_environment_holds_that_torch_and_no_client_of_a_cloud(
    python: str, version: str
) -> None:
    absent = ("boto3", "google", "hypertune", "tensorboard")
    code = (
        "import torch; from importlib.util import find_spec;"
        f"print(torch.__version__, [name for name in {absent} if find_spec(name)])"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{version}.") and done.stdout.endswith(" []\n")


# ---- one model ----------------------------------------------------------------------------------
def test_one_replica_trains_the_model_of_the_lessons_torch(
    python: str, version: str, archive: Path, reference: torch.Tensor, tmp_path: Path
) -> None:
    ended = run(python, *flags(archive, tmp_path / "run", *ONCE))
    assert (ended.code, ended.err) == (0, "")
    assert "validation:accuracy = " in ended.out
    torch.testing.assert_close(weights(tmp_path / "run"), reference, rtol=0, atol=1e-5)
    written = metrics(tmp_path / "run")
    assert written["versions"]["torch"].startswith(f"{version}.") and written["world_size"] == 1
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "model.pt",
        "metrics.json",
        "history.csv",
        "training.log",
    }


def test_sent_alone_it_trains_too(python: str, archive: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(SCRIPT, tmp_path / "task.py"))
    ended = run(python, *flags(archive, tmp_path / "run", *ONCE), script=alone)
    assert (ended.code, ended.err) == (0, "")
    assert (tmp_path / "run/model.pt").is_file()


def test_several_archives_are_one_table(
    python: str, archive: Path, reference: torch.Tensor, tmp_path: Path
) -> None:
    with np.load(archive) as whole:
        X, y = whole["X_train"], whole["y_train"]
    (tmp_path / "table").mkdir()
    for name, rows in (("a", slice(0, 17)), ("b", slice(17, None))):
        np.savez(tmp_path / "table" / f"{name}.npz", X_train=X[rows], y_train=y[rows])
    words = flags(archive, tmp_path / "run", *ONCE, "--train", tmp_path / "table")
    ended = run(python, *words)
    assert (ended.code, ended.err) == (0, "")
    torch.testing.assert_close(weights(tmp_path / "run"), reference, rtol=0, atol=1e-5)


@pytest.mark.parametrize("service", [on_vertex, on_sagemaker])
def test_two_replicas_train_the_model_of_one(
    python: str, service: Any, archive: Path, reference: torch.Tensor, tmp_path: Path
) -> None:
    words = flags(archive, tmp_path / "run", *ONCE)
    with started(python, service(), tmp_path / "logs", str(SCRIPT), *words) as processes:
        assert codes(processes) == [0, 0], said(tmp_path / "logs")
    torch.testing.assert_close(weights(tmp_path / "run"), reference, rtol=0, atol=1e-5)
    rows = [each["rows"] for each in metrics(tmp_path / "run")["replicas"]]
    assert rows == [{"start": 0, "stop": 20}, {"start": 20, "stop": 41}]


def test_under_torchrun_two_processes_train_the_model_of_one(
    python: str, archive: Path, reference: torch.Tensor, tmp_path: Path
) -> None:
    words = flags(archive, tmp_path / "run", *ONCE)
    command = [*torchrun(), str(SCRIPT), *words]
    with started(python, [{}], tmp_path / "logs", *command) as processes:
        assert codes(processes) == [0], said(tmp_path / "logs")
    torch.testing.assert_close(weights(tmp_path / "run"), reference, rtol=0, atol=1e-5)
    assert metrics(tmp_path / "run")["world_size"] == 2


def test_two_replicas_that_share_the_layers_train_the_model_of_one(
    python: str, archive: Path, reference: torch.Tensor, tmp_path: Path
) -> None:
    words = flags(archive, tmp_path / "run", *ONCE, "--parallelism", "model")
    with started(python, on_vertex(), tmp_path / "logs", str(SCRIPT), *words) as processes:
        assert codes(processes) == [0, 0], said(tmp_path / "logs")
    torch.testing.assert_close(weights(tmp_path / "run"), reference, rtol=0, atol=1e-5)


# ---- checkpoints --------------------------------------------------------------------------------
def wait_for_a_checkpoint(folder: Path) -> None:
    """Wait until the run in this folder has saved one."""
    wait_until(lambda: list(Path(f"{folder}-kept").glob("*.pt")))


def resumed_with_the_same_weights(folder: Path, undisturbed: Path) -> bool:
    """Whether the run took a checkpoint, and ended with every bit of the undisturbed one."""
    resumed = metrics(folder)["epochs"]["resumed"]
    return bool(resumed) and torch.equal(weights(folder), weights(undisturbed))


def test_a_killed_run_resumes_and_ends_with_the_same_weights(
    python: str, archive: Path, tmp_path: Path
) -> None:
    assert run(python, *flags(archive, tmp_path / "undisturbed", *LONG)).code == 0
    words, logs = flags(archive, tmp_path / "run", *LONG), tmp_path / "logs"
    with started(python, [{}], logs, str(SCRIPT), *words) as processes:
        wait_for_a_checkpoint(tmp_path / "run")
        processes[0].kill()
        assert codes(processes) == [-9], said(logs)
    assert not (tmp_path / "run/model.pt").exists()
    assert run(python, *words).code == 0
    assert resumed_with_the_same_weights(tmp_path / "run", tmp_path / "undisturbed")


def test_a_job_that_lost_a_replica_resumes_when_its_service_starts_it_again(
    python: str, archive: Path, tmp_path: Path
) -> None:
    """Exit code 134 asks Vertex AI to do so."""
    for name, ends in (("undisturbed", [0, 0]), ("run", [134, -9]), ("run", [0, 0])):
        words, logs = flags(archive, tmp_path / name, *LONG), tmp_path / f"{name}-logs"
        with started(python, on_vertex(), logs, str(SCRIPT), *words) as processes:
            if -9 in ends:
                wait_for_a_checkpoint(tmp_path / "run")
                processes[1].kill()
            assert codes(processes) == ends, said(logs)
    assert resumed_with_the_same_weights(tmp_path / "run", tmp_path / "undisturbed")


def test_torchrun_starts_the_replicas_of_a_machine_again(
    python: str, archive: Path, tmp_path: Path
) -> None:
    for name in ("undisturbed", "run"):
        words, logs = flags(archive, tmp_path / name, *LONG), tmp_path / f"{name}-logs"
        launcher = [*torchrun(), "--max_restarts=3", str(SCRIPT)]
        with started(python, [{}], logs, *launcher, *words) as processes:
            if name == "run":
                wait_for_a_checkpoint(tmp_path / "run")
                psutil.Process(processes[0].pid).children()[-1].kill()
            assert codes(processes) == [0], said(logs)
    assert resumed_with_the_same_weights(tmp_path / "run", tmp_path / "undisturbed")


# ---- refusals, and what is not there ------------------------------------------------------------
NAN = np.full((41, 7), np.nan)
TEXT = np.array([["a"] * 7] * 41, dtype=object)


@pytest.mark.parametrize(
    ("changes", "more", "words"),
    [
        ({"X_train": NAN}, (), "X_train has 287 missing or infinite values"),
        ({"X_train": TEXT}, (), "Object arrays cannot be loaded"),
        ({}, ("--train", "gs://bucket/train.npz"), "google-cloud-storage"),
        ({}, ("--train", "s3://bucket/train.npz"), "boto3"),
        ({}, ("--device", "xla"), "--device xla"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    python: str, changes: dict[str, Any], more: tuple[Any, ...], words: str, tmp_path: Path
) -> None:
    archive = save_table(tmp_path / "data.npz", **changes)
    ended = run(python, *flags(archive, tmp_path / "run", *more))
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert ended.err.startswith("train_nn.py: ") and words in ended.err


def test_without_tensorboard_and_hypertune_it_trains_and_says_so_once(
    python: str, archive: Path, tmp_path: Path
) -> None:
    trial = {"CLOUD_ML_TRIAL_ID": "1", "CLOUD_ML_HP_METRIC_FILE": str(tmp_path / "metric")}
    words = flags(archive, tmp_path / "run", *ONCE, "--tensorboard_dir", tmp_path / "events")
    ended = run(python, *words, **trial)
    assert (ended.code, ended.err) == (0, "")
    told = [line for line in ended.out.splitlines() if "pip install" in line]
    missing = [line.split("pip install ")[1] for line in told]
    assert missing == ["cloudml-hypertune", "tensorboard"], ended.out
