"""The script that is measured: where it is, what a step of it costs, and several of it at once."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "training" / "train_nn.py"
FEATURES = 7


def operations_per_row(hidden: Sequence[int]) -> int:
    """Count the operations of a training step.

    Each weight has 2 forward, 2 for its gradient and 2 for its input's.

    The first layer needs no gradient of its input.
    """
    products = [inputs * outputs for inputs, outputs in pairwise([FEATURES, *hidden, 1])]
    return 6 * sum(products) - 2 * products[0]


def together(count: int, *command: str) -> list[Any]:
    """Return the JSON that each of so many processes prints last.

    They find each other as with torchrun.

    One thread each, as torchrun gives them.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    group = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    here = os.environ | group | {"OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            env=here | {"RANK": str(rank)},
        )
        for rank in range(count)
    ]
    said = [process.communicate()[0] for process in processes]
    for process in processes:
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
    return [json.loads(each.splitlines()[-1]) for each in said]
