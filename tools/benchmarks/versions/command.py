"""The script measured through its own command: what any version of it can be compared by.

A run's history.csv holds, after every epoch, the seconds of training so far. The validation table
has 64 rows, and the first epochs are not counted.
"""

from __future__ import annotations

import csv
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

VALIDATION_ROWS = 64
EPOCHS = 7
WARM_UP = 2  # epochs that are not counted


def write_table(path: Path, rows: int, features: int) -> Path:
    """Write one archive for --train and --val: random rows, labels that two columns decide."""
    import numpy as np

    X = np.random.default_rng(0).standard_normal((rows, features), dtype=np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(np.float32)
    some = slice(0, VALIDATION_ROWS)
    np.savez(path, X_train=X, y_train=y, X_val=X[some], y_val=y[some])
    return path


def words(table: Path, folder: str | Path, **flags: Any) -> list[str]:
    """Return the words that the script is given: all epochs, unless a flag says otherwise."""
    given = {"train": table, "val": table, "model_dir": folder, "patience": 0, "epochs": EPOCHS}
    return [f"--{name}={value}" for name, value in (given | flags).items()]


def train(script: Path, table: Path, folder: str | Path, replicas: int = 1, **flags: Any) -> None:
    """Run the script to its end; several replicas are started as Vertex AI starts them."""
    command = [sys.executable, str(script), *words(table, folder, **flags)]
    running = [
        subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL)
        for environment in environments(replicas)
    ]
    if codes := [code for process in running if (code := process.wait())]:
        raise SystemExit(f"{' '.join(command)} ended with {codes[0]}")


def environments(replicas: int) -> list[Mapping[str, str]]:
    """Return the variables of each replica; one thread each, as torchrun gives several."""
    if replicas == 1:
        return [{}]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        master = f"127.0.0.1:{probe.getsockname()[1]}"
    workers = [f"worker-{number}:2222" for number in range(replicas - 1)]
    cluster = {"workerpool0": [master], "workerpool1": workers}
    tasks = [("workerpool0", 0), *(("workerpool1", number) for number in range(replicas - 1))]
    specs = [{"cluster": cluster, "task": {"type": t, "index": i}} for t, i in tasks]
    return [{"CLUSTER_SPEC": json.dumps(spec), "OMP_NUM_THREADS": "1"} for spec in specs]


def epoch_seconds(folder: str | Path) -> float:
    """Return the median epoch of a run."""
    with open(Path(folder, "history.csv"), encoding="utf-8") as file:
        ends = [float(line["seconds"]) for line in csv.DictReader(file)]
    return statistics.median(after - before for before, after in pairwise(ends[WARM_UP - 1 :]))


def epoch(script: Path, table: Path, replicas: int = 1, **flags: Any) -> float:
    """Return the seconds of an epoch of a run of its own."""
    with tempfile.TemporaryDirectory() as folder:
        train(script, table, folder, replicas, **flags)
        return epoch_seconds(folder)


def comma(hidden: Sequence[int]) -> str:
    """Return the widths as --hidden takes them."""
    return ",".join(map(str, hidden))
