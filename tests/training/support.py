"""Archives to train on, and ways to run train_nn.py: as processes and inside the tests."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import randrange
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from testing.forked import start
from training import train_nn

SCRIPT = Path(train_nn.__file__)
FOR_LONG = ("--epochs", 10**6, "--patience", 0)
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}


def table(rows: int = 40, features: int = 7, seed: int = 0) -> dict[str, np.ndarray]:
    """A small table whose first column decides the label, in both parts."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, features))
    y = (X[:, 0] > 0).astype(np.int64)
    half = max(1, rows // 2)
    return {"X_train": X, "y_train": y, "X_val": X[:half], "y_val": y[:half]}


def save(path: Path, **changes: Any) -> Path:
    """One npz archive with all four arrays, some of them changed; serves as --train and --val."""
    arrays = {name: array for name, array in (table() | changes).items() if array is not None}
    np.savez(path, **arrays)
    return path


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


# Runs a script, its standard error in a file of its own.
APART = """
import os, runpy, sys
_, errors, *sys.argv = sys.argv
os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def as_process(*flags: Any, **environment: str) -> Ended:
    """Run the script as a process of its own, forked from one that has torch imported."""
    with tempfile.TemporaryDirectory() as folder:
        (apart := Path(folder, "apart.py")).write_text(APART)
        (errors := Path(folder, "errors")).touch()
        words = [str(apart), str(errors), str(SCRIPT), *map(str, flags)]
        with Path(folder, "output").open("w+b") as output:
            code = start(words, {"PATH": "/usr/bin:/bin", **environment}, output).wait(timeout=120)
            output.seek(0)
            return Ended(code, output.read().decode(), errors.read_text())


def main(flags: Iterable[Any]) -> int:
    """Run the script's main() with these flags; its exit code."""
    try:
        return train_nn.main([*map(str, flags)])
    except SystemExit as leaving:  # argparse after a mistaken flag
        assert isinstance(leaving.code, int)
        return leaving.code


def inside(*flags: Any) -> Ended:
    """Run the script's main() in this process, a hundred times faster to start."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(flags)
    return Ended(code, out.getvalue(), err.getvalue())


def train(archive: Path, folder: Path, *flags: Any) -> Ended:
    """Train inside this process on one archive that serves as --train and --val."""
    return inside("--train", archive, "--val", archive, "--model_dir", folder, *flags)


def whole_table(X: torch.Tensor, y: torch.Tensor) -> train_nn.Table:
    """A table that one replica holds as a whole."""
    return train_nn.Table(X, y, range(len(X)), len(X), 1, "", "")


def trained(model: nn.Module, table: train_nn.Table, *flags: str) -> train_nn.Run:
    """Train this model on this table, which also judges; how far it came."""
    parsed = train_nn.parse_flags(["--train=t", "--val=t", *flags])
    with pytest.MonkeyPatch.context() as patch, train_nn.callers_settings():
        patch.setattr(train_nn, "build_model", lambda *_: model)
        cpu = torch.device("cpu")
        run = train_nn.start_run(parsed, train_nn.Replica(), cpu, train=table, val=table)
        train_nn.fit(run, train_nn.Reports(run))
    return run


def free_port() -> int:
    """A port of the loopback that nobody listens on now, nor is given while nobody does.

    Replicas that are killed leave it for a while, and the system gives ports from 32,768 on to any
    connection that wants one.
    """
    while True:
        address = ("127.0.0.1", randrange(20_000, 32_000))
        with contextlib.suppress(OSError), socket.create_server(address):
            return address[1]


def cluster_specs(replicas: int) -> list[str]:
    """What Vertex AI sets as CLUSTER_SPEC, one for each replica: a chief, and workers."""
    cluster = {"workerpool0": [f"127.0.0.1:{free_port()}"]}
    tasks = [{"type": "workerpool0", "index": 0}]
    if replicas > 1:
        cluster["workerpool1"] = [f"worker-{index}:2222" for index in range(replicas - 1)]
        tasks += [{"type": "workerpool1", "index": index} for index in range(replicas - 1)]
    rest = {"environment": "cloud", "job": {}}
    return [json.dumps({"cluster": cluster, "task": task, **rest}) for task in tasks]


def two_of_torchrun() -> list[dict[str, str]]:
    """The variables that torchrun gives to two processes."""
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
    return [
        {"TORCHELASTIC_RUN_ID": "x", "RANK": str(rank), "LOCAL_RANK": str(rank), **common}
        for rank in range(2)
    ]


class Replicas:
    """Several processes that train one model on this machine, each with a log of its own."""

    def __init__(
        self,
        environments: Iterable[Mapping[str, str]],
        logs: Path,
        *flags: Any,
        script: Path = SCRIPT,
    ) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self.logs, self.processes = [], []
        for rank, environment in enumerate(environments):
            self.logs.append(logs / f"{rank}.log")
            with self.logs[-1].open("wb") as log:
                variables = {
                    "PATH": "/usr/bin:/bin",
                    "OMP_NUM_THREADS": "1",
                    **({} if "SM_NETWORK_INTERFACE_NAME" in environment else LOOPBACK),
                    **environment,
                }
                self.processes.append(start([str(script), *map(str, flags)], variables, log))

    def __enter__(self) -> Replicas:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def said(self, rank: int) -> list[str]:
        """The lines of one replica so far."""
        return self.logs[rank].read_text().splitlines()

    def codes(self) -> list[int]:
        """The exit codes, when all have ended."""
        return [process.wait(timeout=120) for process in self.processes]


def as_replicas(
    number: int, archive: Path, folder: Path, *flags: Any, **environment: str
) -> Replicas:
    """Start replicas on one archive that serves as --train and --val."""
    environments = [{"CLUSTER_SPEC": spec, **environment} for spec in cluster_specs(number)]
    data = ("--train", archive, "--val", archive, "--model_dir", folder)
    return Replicas(environments, folder.with_name(f"{folder.name}-logs"), *data, *flags)


def wait_until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Look again and again until it is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
