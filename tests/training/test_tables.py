"""Tables of many shards, or larger than memory, as the script trains on them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import big_tables
from tests.training.pool import Pool, train_as
from tests.training.support import SCRIPT, Ended, as_replicas, inside, save, table
from training import train_nn

CPU = torch.device("cpu")


def test_an_archive_of_more_than_64_mib_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If big_tables.py is beside the script; else it is read into memory."""
    X, y = np.ones((2**12, 2**12 + 1), np.float32), np.zeros(2**12, np.float32)
    np.savez(tmp_path / "large", X_train=X, y_train=y)
    table: Any = train_nn.read_table(
        f"{tmp_path}/large.npz", "train", rank=0, replicas=1, device=CPU
    )
    assert isinstance(table.held, big_tables.RowsInFiles)
    monkeypatch.setattr(train_nn.importlib.util, "find_spec", lambda name: None)
    table = train_nn.read_table(f"{tmp_path}/large.npz", "train", rank=0, replicas=1, device=CPU)
    assert torch.equal(table.X, torch.from_numpy(X))


def train_on_own(rank: int, size: int, paths: list[Path], flags: tuple[Any, ...]) -> Ended:
    """Train as a replica that has a path of its own."""
    return train_as(rank, size, ("--train", paths[rank], *flags))


def test_machines_with_two_archives_and_with_one_train_on_three(pool: Pool, tmp_path: Path) -> None:
    """As SageMaker's ShardedByS3Key gives them out: one channel's folder, one channel's file."""
    for name, rows in (("a/1", 10), ("b/2", 21), ("a/3", 30)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        save(tmp_path / f"{name}.npz", **table(rows))
    flags = ("--val", tmp_path / "b/2.npz", "--epochs", 1, "--model_dir", tmp_path / "run")
    paths = [tmp_path / "a", tmp_path / "b/2.npz"]
    for ended in pool.run(2, train_on_own, paths, flags):
        assert (ended.code, ended.err) == (0, "")
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert [replica["rows"] for replica in metrics["replicas"]] == [
        [{"start": 0, "stop": 10}, {"start": 31, "stop": 61}],
        {"start": 10, "stop": 31},
    ]


def test_machines_with_one_archive_each_train_on_both_if_the_folder_is_named(
    pool: Pool, tmp_path: Path
) -> None:
    paths = []
    for name, rows in (("1", 10), ("2", 21)):
        (tmp_path / name).mkdir()
        paths.append(save(tmp_path / name / f"{name}.npz", **table(rows)))
    flags = ("--val", paths[1], "--epochs", 1, "--model_dir", tmp_path / "run")
    words = "the machines have different files; if each has a part of the table, name the folder"
    for ended, path in zip(pool.run(2, train_on_own, paths, flags), paths, strict=True):
        assert (ended.code, ended.err) == (2, f"train_nn.py: --train {path}: {words}\n")
    folders = [path.parent for path in paths]
    for ended in pool.run(2, train_on_own, folders, flags):
        assert (ended.code, ended.err) == (0, "")
    metrics = json.loads((tmp_path / "run/metrics.json").read_text())
    assert [replica["rows"] for replica in metrics["replicas"]] == [
        {"start": 0, "stop": 10},
        {"start": 10, "stop": 31},
    ]


# ---- larger than memory -------------------------------------------------------------------------
SIZES = {"0[0-3].npz": 0.5, "0[0-7].npz": 1, "0?.npz": 2, "[01]?.npz": 4}  # in GB


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """32 shards of 128 MB, 256 features each, and a small archive to validate with."""
    folder = tmp_path_factory.mktemp("large")
    X = np.random.default_rng(0).standard_normal((2**17, 256), dtype=np.float32)
    y = (X[:, 0] > 0).astype(np.uint8)
    np.savez(folder / "val", X_val=X[:999], y_val=y[:999])
    np.savez(folder / "00", X_train=X, y_train=y)
    for index in range(1, 32):
        shutil.copyfile(folder / "00.npz", folder / f"{index:02x}.npz")
    yield folder
    shutil.rmtree(folder)


def private_memory(process: subprocess.Popen[str]) -> int:
    """Bytes of a process that no file backs, of which the rest can be taken back at any time."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return sum(1024 * int(n) for n in re.findall(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_any_table_trains_in_the_same_memory(large: Path, tmp_path: Path) -> None:
    peaks = {}
    for shards, size in SIZES.items():
        flags = ["--train", f"{large}/{shards}", "--val", f"{large}/val.npz", "--epochs=1"]
        flags += ["--batch_size=4096", "--hidden=8", "--model_dir", f"{tmp_path}/{size}"]
        limited = ["sh", "-c", 'ulimit -d 1048576; exec "$@"', "sh", sys.executable]  # 1 GB
        command = [*limited, str(SCRIPT), *flags]
        alone = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=alone) as process:
            peaks[size] = 0
            while process.poll() is None:
                peaks[size] = max(peaks[size], private_memory(process))
                time.sleep(0.01)
            assert process.stderr and not process.returncode, process.stderr.read()
        metrics = json.loads((tmp_path / f"{size}/metrics.json").read_text())
        assert metrics["replicas"][0]["rows"] == {"start": 0, "stop": size * 2**20}
    assert peaks[4] < 1.1 * peaks[0.5] + 20e6, peaks


@pytest.mark.slow
def test_two_replicas_of_a_large_table_give_the_model_of_one(large: Path, tmp_path: Path) -> None:
    flags = ("--train", f"{large}/0[0-3].npz", "--val", f"{large}/val.npz", "--epochs", 1)
    flags += ("--batch_size", 4096, "--hidden", 8)
    models = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        running = as_replicas(number, Path("unused"), folder, *flags, "--model_dir", folder)
        with running:
            assert running.codes() == [0] * number, running.said(0)
        models.append(torch.load(folder / "model.pt", weights_only=True)["model"])
    for name, value in models[0].items():
        torch.testing.assert_close(models[1][name], value, rtol=0, atol=1e-5)


def test_validation_rows_that_were_prepared_by_another_fit_are_refused(tmp_path: Path) -> None:
    train = save(tmp_path / "train.npz", preparation='{"age": 30}')
    val = save(tmp_path / "val.npz", preparation='{"age": 31}')
    done = inside("--train", train, "--val", val, "--model_dir", tmp_path / "out")
    assert done.code == 2 and str(val) in done.err and "prepare both alike" in done.err
