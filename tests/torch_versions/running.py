"""The script as processes of another environment, as a training service's container starts it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "training" / "train_nn.py"
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    err: str


def save_table(path: Path, rows: int = 41, **changes: Any) -> Path:
    """One npz archive for --train and --val whose first column decides the label."""
    X = np.random.default_rng(0).standard_normal((rows, 7))
    arrays: dict[str, Any] = {"X_train": X, "y_train": (X[:, 0] > 0).astype(int)}
    arrays |= {"X_val": X[:20], "y_val": arrays["y_train"][:20]}
    np.savez(path, **(arrays | changes))
    return path


def flags(archive: Path, run: Path, *more: Any) -> list[str]:
    """What a run is given; nothing is written outside its folder."""
    data = ["--train", archive, "--val", archive, "--model_dir", run]
    return [str(each) for each in (*data, "--checkpoint_dir", f"{run}-kept", *more)]


def environment(**more: str) -> dict[str, str]:
    """A container's variables: none of this machine's."""
    plain = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": LOOPBACK}
    return plain | more


def run(python: str, *words: str, script: Path = SCRIPT, **more: str) -> Ended:
    """Run the script to its end."""
    done = subprocess.run(
        [python, str(script), *words],
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@contextmanager
def started(
    python: str, environments: list[Mapping[str, str]], logs: Path, *words: str
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Several processes at once, each with a log of its own; none outlives the test."""
    logs.mkdir(parents=True, exist_ok=True)
    processes = []
    for rank, more in enumerate(environments):
        with (logs / f"{rank}.log").open("wb") as log:
            command = [python, *words]
            process = subprocess.Popen(
                command, env=environment(**more), stdout=log, stderr=log, start_new_session=True
            )
        processes.append(process)
    try:
        yield processes
    finally:
        for process in processes:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def codes(processes: list[subprocess.Popen[bytes]]) -> list[int]:
    """The exit codes, when all have ended."""
    return [process.wait(timeout=120) for process in processes]


def said(logs: Path) -> str:
    """What all of them wrote, for a failing test to show."""
    return "\n".join(log.read_text() for log in sorted(logs.iterdir()))


def free_port() -> int:
    """A port of the loopback that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def on_vertex() -> list[Mapping[str, str]]:
    """The variables of a chief and a worker."""
    cluster = {"workerpool0": [f"127.0.0.1:{free_port()}"], "workerpool1": ["worker-0:2222"]}
    tasks = [{"type": pool, "index": 0} for pool in cluster]
    rest = {"environment": "cloud", "job": {}}
    return [{"CLUSTER_SPEC": json.dumps({"cluster": cluster, "task": t, **rest})} for t in tasks]


def on_sagemaker() -> list[Mapping[str, str]]:
    """The variables of two instances."""
    names, port = ["algo-1", "algo-2"], str(free_port())
    both = {"SM_HOSTS": json.dumps(names), "SM_NETWORK_INTERFACE_NAME": LOOPBACK}
    both |= {"SM_MASTER_ADDR": "127.0.0.1", "SM_MASTER_PORT": port}
    return [both | {"SM_CURRENT_HOST": name} for name in names]


def weights(run: Path) -> torch.Tensor:
    """All weights of the model that a run wrote, as today's torch reads them."""
    state = torch.load(run / "model.pt", weights_only=True)["model"]
    return torch.cat([value.flatten() for value in state.values()])


def wait_until(true: Callable[[], object], seconds: float = 60) -> None:
    """Look again and again until it is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
