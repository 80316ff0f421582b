"""One thread against all: where train_nn.choose_threads() gets its number from.

`python -m benchmarks.threads THREADS` prints microseconds per step for each shape in SHAPES.
"""

import json
import os
import statistics
import sys
import time
from functools import partial

from benchmarks.measure import as_table, last_line, ratio, say, take_turns

# (rows per step, hidden widths)
SHAPES = [
    *[(569, (64, 32)), (1024, (64, 32)), (2048, (64, 32)), (4096, (64, 32)), (16384, (64, 32))],
    *[(64, (128, 128)), (256, (128, 128)), (1024, (128, 128))],
    *[(64, (256, 256)), (256, (256, 256)), (1024, (256, 256)), (64, (512, 512))],
]


def main() -> None:
    import torch

    from training import train_nn

    torch.empty(8 * 2**20 - 4096)  # as in the script's run()
    torch.set_num_threads(int(sys.argv[1]))
    micros = []
    for rows, hidden in SHAPES:
        X = torch.randn(rows, 7)
        y = (X[:, :1] > 0).float()
        model = train_nn.build_model(7, hidden, seed=0)
        optimiser, progress = train_nn.Adam(model, 0.001), train_nn.Progress(0)
        seconds: list[float] = []
        while sum(seconds) < 0.5:
            begun = time.perf_counter()
            progress.steps = []
            batch = ([(X, y)], rows)
            train_nn.train_epoch(model, optimiser, [batch], progress, train_nn.Place())
            seconds.append(time.perf_counter() - begun)
        micros.append(statistics.median(seconds) * 1e6)
    print(json.dumps(micros))


def section() -> str:
    """One thread against all of them, by shape."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    say(f"threads: 1, {cores}, and {cores} of which the waiting ones sleep, take turns ...")
    command = ("-m", "benchmarks.threads")
    measures = {
        "one": partial(last_line, *command, "1"),
        "many": partial(last_line, *command, str(cores)),
        "sleeping": partial(last_line, *command, str(cores), GOMP_SPINCOUNT="0"),
    }
    taken = take_turns(measures, 3)
    lines = []
    for place, (rows, hidden) in enumerate(SHAPES):
        one, many, sleeping = ([turn[place] for turn in rounds] for rounds in taken.values())
        weights = 7 * hidden[0] + hidden[0] * hidden[1] + hidden[1]
        cells = [f"{6 * rows * weights / 1e6:,.0f}", f"{statistics.median(one):,.0f}"]
        cells += [f"{ratio(one, other):.2f}" for other in (many, sleeping)]
        lines.append((f"{rows:,}", hidden, *cells))
    columns = ("rows per step", "hidden", "million operations per step", "one thread, microseconds")
    gains = (f"gain from {cores} threads", "and with GOMP_SPINCOUNT=0")
    return f"### One thread against {cores}\n\n{as_table((*columns, *gains), lines)}"


if __name__ == "__main__":
    main()
