"""How long an epoch of one step takes train_nn.py, alone and with replicas of this machine.

measure() starts the replicas as processes of their own, with one thread each, so that each stands
for a machine of one core. They use the script's own functions, and take turns with one of them
working alone: what else the computer does meanwhile, it does to all that is compared.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lesson import ROOT, LessonError
from lesson.machines.this_machine import SCRIPT

if TYPE_CHECKING:
    import pandas as pd

FEATURES = 7  # as many as the passengers have
TURNS = 5
TURN = 0.02  # seconds; a turn has as many steps as fit in, one at least

Case = tuple[int, Sequence[int]]  # rows per step, widths of the hidden layers


def measure(cases: Sequence[Case], replicas: int = 2) -> pd.DataFrame:
    """Time a step with all rows, in each case, on this machine, and print the times as they come.

    A case is (rows per step, widths of the hidden layers). Returns a row for each, in milliseconds,
    medians of some steps: `alone`, by one process; `together`, by the replicas, each on its part of
    the rows; `parts`, each on its part but without an exchange, all at the same time; `exchange`,
    adding up as many numbers as there are gradients, and the loss, without a step. `speed_up` is
    `alone` by `together`. Raises LessonError if a replica fails.
    """
    import pandas as pd

    if replicas < 1:
        raise LessonError(f"replicas={replicas}: time at least one")
    rows = []
    with tempfile.TemporaryDirectory(prefix="scaling-") as folder:
        meeting = f"file://{folder}/meeting"
        processes = [
            _start(cases, meeting, rank=rank, replicas=replicas) for rank in range(replicas)
        ]
        try:
            for line in processes[0].stdout or ():
                rows.append(json.loads(line))
                print("{hidden}, {rows} rows: alone {alone:.2f} ms, together {together:.2f} ms"
                      .format(**rows[-1]), flush=True)  # fmt: skip
            said = [process.communicate()[1] for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
    if len(rows) < len(cases):
        last = next((text.strip().split("\n")[-1] for text in said if text.strip()), "no word")
        raise LessonError(f"a replica that was to be timed has ended: {last}")
    table = pd.DataFrame(rows)
    return table.assign(speed_up=table["alone"] / table["together"])


def crossover(rows: Sequence[float], speed_ups: Sequence[float]) -> float | None:
    """Return from how many rows on the speed-up stays above 1, read between the measured ones.

    `rows` in rising order. None if the speed-up is not above 1 with most rows; the fewest rows if
    it is with all.
    """
    below = [place for place, value in enumerate(speed_ups) if value <= 1]
    if not below:
        return float(rows[0])
    last = below[-1]
    if last == len(rows) - 1:
        return None
    share = (1 - speed_ups[last]) / (speed_ups[last + 1] - speed_ups[last])
    return math.exp(
        math.log(rows[last]) + share * (math.log(rows[last + 1]) - math.log(rows[last]))
    )


def _start(
    cases: Sequence[Case], meeting: str, *, rank: int, replicas: int
) -> subprocess.Popen[str]:
    """Run one replica, with one thread."""
    task = json.dumps([cases, meeting, rank, replicas])
    loopback = "lo" if sys.platform == "linux" else "lo0"
    return subprocess.Popen(
        [sys.executable, "-m", "lesson.machines.scaling", task],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": loopback},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# ---- in the replicas ----------------------------------------------------------------------------
def time_case(script: ModuleType, case: Case, *, rank: int, replicas: int) -> dict[str, Any]:
    """Time the steps of one case, turn by turn; every replica calls this with its own rank."""
    import torch
    import torch.distributed as dist

    rows, hidden = case
    everyone, part = range(replicas), len(script.own_range(rows, rank, replicas))
    steps = {  # what is timed, and on which of the replicas at the same time
        "alone": (step_of(script, rows, hidden), (0,)),
        "parts": (step_of(script, part, hidden), everyone),
        "together": (step_of(script, rows, hidden, rank=rank, replicas=replicas), everyone),
    }
    weights = sum(tensor.numel() for tensor in script.build_model(FEATURES, hidden, 0).parameters())
    steps["exchange"] = (exchange_of(script, weights, replicas), everyone)
    times: dict[str, list[float]] = {name: [] for name in steps}
    repeats: dict[str, int] = {}
    for turn in range(TURNS + 1):
        for name, (step, takers) in steps.items():
            dist.barrier()
            if rank not in takers:
                continue
            if turn == 0:  # to warm up, and to see how many fit into a turn
                _seconds(step)
                seconds = torch.tensor(_seconds(step))
                if len(takers) > 1:  # all the same number, or they would wait for ever
                    dist.all_reduce(seconds, dist.ReduceOp.MAX)
                repeats[name] = min(50, max(1, round(TURN / seconds.item())))
            else:
                times[name] += [_seconds(step) for _ in range(repeats[name])]
    medians = {name: 1000 * statistics.median(seconds or [0.0]) for name, seconds in times.items()}
    return {"hidden": str(list(hidden)), "rows": rows, "weights": weights, **medians}


def step_of(
    script: ModuleType, rows: int, hidden: Sequence[int], *, rank: int = 0, replicas: int = 1
) -> Callable[[], object]:
    """Return the script's epoch of one step on so many rows, of which this replica has its own."""
    import torch

    own = script.own_range(rows, rank, replicas)
    X = torch.randn(len(own), FEATURES)
    y = (X[:, :1] > 0).float()
    table = script.Table(X, y, own, rows, replicas, preparation="", digest="")
    model = script.build_model(FEATURES, hidden, seed=0)
    optimizer = script.build_optimizer(list(model.parameters()), learning_rate=0.001)
    shuffle = torch.Generator()
    return lambda: script.train_one_epoch(model, optimizer, table, batch_size=rows, shuffle=shuffle)


def exchange_of(script: ModuleType, weights: int, replicas: int) -> Callable[[], object]:
    """Return what the replicas send each other in such an epoch: the gradients, then the loss."""
    import torch

    gradients, loss = torch.zeros(weights), torch.zeros(())

    def exchange() -> None:
        script.add_up(gradients, replicas)
        script.add_up(loss, replicas)

    return exchange


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _replica(task: str) -> None:
    """Time all cases; the first replica prints a line for each."""
    cases, meeting, rank, replicas = json.loads(task)
    if sys.platform == "linux":  # as the local cloud has it: replicas interrupt each other less
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    sys.path.append(str(SCRIPT.parent))  # with the files beside the script, which it may take
    script = importlib.import_module(SCRIPT.stem)
    import torch.distributed as dist

    soon = timedelta(minutes=1)  # where a replica is lost, the others do not wait for half an hour
    dist.init_process_group("gloo", meeting, soon, replicas, rank)
    for case in cases:
        times = time_case(script, case, rank=rank, replicas=replicas)
        if rank == 0:
            print(json.dumps(times), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    _replica(sys.argv[1])
