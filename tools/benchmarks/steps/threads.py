"""One thread against all: where train_nn.choose_threads() gets its number from.

`python -m tools.benchmarks.steps.threads THREADS` prints microseconds per step for each shape in
SHAPES.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from testing.measure import as_table, last_line, ratio, say, take_turns

# (rows per step, hidden widths)
SHAPES = [
    (569, (64, 32)),
    (1024, (64, 32)),
    (2048, (64, 32)),
    (4096, (64, 32)),
    (16384, (64, 32)),
    (64, (128, 128)),
    (256, (128, 128)),
    (1024, (128, 128)),
    (64, (256, 256)),
    (256, (256, 256)),
    (1024, (256, 256)),
    (64, (512, 512)),
]
COLUMNS = (
    "rows per step",
    "hidden",
    "million operations per step",
    "one thread, microseconds",
    "gain, torch's own waiting",
    "asleep at once",
    "beside a busy process: torch's own",
    "asleep at once",
)
TURNS = 2


def main() -> None:
    import torch

    from tools.benchmarks.steps import epochs

    micros = []
    for rows, hidden in SHAPES:
        X = torch.randn(rows, 7)
        y = (X[:, :1] > 0).float()
        training = epochs.ready_to_train(epochs.table_of(X, y), hidden, 0)
        torch.set_num_threads(int(sys.argv[1]))
        seconds: list[float] = []
        while sum(seconds) < 0.5:
            begun = time.perf_counter()
            epochs.train_one_epoch(training)
            seconds.append(time.perf_counter() - begun)
        micros.append(statistics.median(seconds) * 1e6)
    print(json.dumps(micros))


def beside(others: int, measure: Callable[[], Any]) -> Any:
    """Measure while so many other processes keep a core busy each."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        return measure()
    finally:
        for process in busy:
            process.kill()
            process.wait()


def section() -> str:
    """Measure one thread against all of them, by shape; on a quiet machine and on a busy one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    say(f"threads: 1 and {cores}, which wait as torch has it or sleep at once, take turns ...")
    command = ("-m", "tools.benchmarks.steps.threads")
    waiting = {
        "one": partial(last_line, *command, "1"),
        "torch": partial(last_line, *command, str(cores)),
        "sleeping": partial(last_line, *command, str(cores), GOMP_SPINCOUNT="0"),
    }
    measures = {
        f"{name} {others}": partial(beside, others, measure)
        for others in (0, 1)
        for name, measure in waiting.items()
    }
    taken = take_turns(measures, TURNS)
    lines = []
    for place, (rows, hidden) in enumerate(SHAPES):
        micros = {key: [turn[place] for turn in rounds] for key, rounds in taken.items()}
        weights = 7 * hidden[0] + hidden[0] * hidden[1] + hidden[1]
        cells = [f"{6 * rows * weights / 1e6:,.0f}", f"{statistics.median(micros['one 0']):,.0f}"]
        cells += [
            f"{ratio(micros[f'one {others}'], micros[f'{name} {others}']):.2f}"
            for others in (0, 1)
            for name in ("torch", "sleeping")
        ]
        lines.append((f"{rows:,}", hidden, *cells))
    return f"### What {cores} threads gain over one\n\n{as_table(COLUMNS, lines)}"


if __name__ == "__main__":
    main()
