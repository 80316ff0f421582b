"""How every section measures: in processes of their own, which take turns.

A machine that slows down for a while then slows all of them: medians and ratios are what to read.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "training" / "train_nn.py"
FEATURES = 7


def output(*command: str, **environment: str) -> str:
    """Return what a Python command prints, run from the repository's root."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return done.stdout


def seconds(*command: str) -> float:
    """Return how long a Python command takes as a whole process."""
    begun = time.perf_counter()
    output(*command)
    return time.perf_counter() - begun


def last_line(*command: str, **environment: str) -> Any:
    """Return the JSON that a Python command prints last; what an SDK reports comes before it."""
    return json.loads(output(*command, **environment).splitlines()[-1])


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


def operations_per_row(hidden: Sequence[int]) -> int:
    """Count the operations of a training step.

    Each weight has 2 forward, 2 for its gradient and 2 for its input's.

    The first layer needs no gradient of its input.
    """
    products = [inputs * outputs for inputs, outputs in pairwise([FEATURES, *hidden, 1])]
    return 6 * sum(products) - 2 * products[0]


def take_turns(measures: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, list[Any]]:
    """Take every measure `turns` times in turn, after a first round that is not counted."""
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(turns + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in measures}


def ratio(slow: list[float], fast: list[float]) -> float:
    """Return the median, over the turns, of how many times longer the first took."""
    return statistics.median(one / other for one, other in zip(slow, fast, strict=True))


def say(text: str) -> None:
    """Print progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def as_table(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
