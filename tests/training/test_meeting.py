"""Replicas that torchrun starts, that wait for each other, and that wait in vain."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.pool import weights_of
from tests.training.support import (
    LOOPBACK,
    SCRIPT,
    cluster_specs,
    free_port,
    save,
    table,
    train,
    wait_until,
)
from tests.training.test_sagemaker import in_version_3

LOST = "train_nn.py: another replica ended or cannot be reached, no model was written"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


def world_size(folder: Path) -> int:
    size: int = json.loads((folder / "metrics.json").read_text())["world_size"]
    return size


def test_torchrun_itself(archive: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2"]
    command += [f"--master_port={free_port()}", str(SCRIPT), f"--train={archive}"]
    command += [f"--val={archive}", "--epochs=5", f"--model_dir={tmp_path / 'run'}"]
    done = subprocess.run(
        command, env={**os.environ, **LOOPBACK}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    train(archive, tmp_path / "one", "--epochs", 5)
    torch.testing.assert_close(weights_of(tmp_path / "run"), weights_of(tmp_path / "one"))
    assert world_size(tmp_path / "run") == 2


def may_change_hosts() -> bool:
    """Whether a process may have an /etc/hosts of its own."""
    command = ["unshare", "--user", "--map-root-user", "--mount"]
    command += ["mount", "--bind", "/etc/hosts", "/etc/hosts"]
    if not shutil.which("unshare"):
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_change_hosts(), reason="needs a mount namespace")
def test_a_host_whose_name_nobody_knows_at_first_is_met_when_it_is_known(
    archive: Path, tmp_path: Path
) -> None:
    known = tmp_path / "hosts"
    known.write_text("127.0.0.1 localhost\n")
    port, folder = free_port(), tmp_path / "run"
    first, second = (in_version_3(2, number, "algo-1", port) for number in (1, 2))
    shell = f'mount --bind "{known}" /etc/hosts && exec "$0" "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", shell]
    command += [sys.executable, str(SCRIPT), "--train", str(archive), "--val", str(archive)]
    command += ["--epochs", "3", "--model_dir", str(folder)]
    log = tmp_path / "second.log"
    path = {"PATH": os.environ["PATH"]}
    with log.open("wb") as out:
        late = subprocess.Popen(
            command, env=path | second | {"TORCH_CPP_LOG_LEVEL": "WARNING"}, stdout=out, stderr=out
        )
    try:
        wait_until(lambda: "cannot be retrieved" in log.read_text())  # torch's own warning
        assert late.poll() is None
        known.write_text("127.0.0.1 localhost\n127.0.0.1 algo-1\n")
        done = subprocess.run(command, env=path | first, capture_output=True, text=True, timeout=90)
        assert (done.returncode, late.wait(timeout=90)) == (0, 0), (done, log.read_text())
    finally:
        late.kill()
        late.wait()
    assert world_size(folder) == 2


@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_when_nobody_comes_it_is_said(
    archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rank: int
) -> None:
    code = (
        "import sys, functools, torch.distributed as dist; from datetime import timedelta;"
        "brief = functools.partial(dist.init_process_group, timeout=timedelta(seconds=1));"
        "dist.init_process_group = brief;"
        "from training import train_nn; sys.exit(train_nn.main())"
    )
    command = [sys.executable, "-c", code, "--train", archive, "--val", archive]
    environment = {"CLUSTER_SPEC": cluster_specs(2)[rank], "TORCH_CPP_LOG_LEVEL": "FATAL"}
    done = subprocess.run(
        [*command, "--model_dir", tmp_path / "run"],
        cwd=SCRIPT.parents[1], env={**environment, **LOOPBACK}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == f"{LOST}\n"
    assert not (tmp_path / "run/model.pt").exists()
