"""Two replicas of the script against two of the loop that most would write (ddp_loop.py)."""

from __future__ import annotations

import statistics
from functools import partial

from testing.measure import as_table, ratio, say, take_turns
from tools.benchmarks.replicas.scaling import rate

# (hidden widths, rows of a step over both replicas)
SHAPES = [([64, 32], 128), ([64, 32], 4096), ([1024, 1024], 128), ([1024, 1024], 4096)]
COLUMNS = (
    "hidden",
    "rows a step",
    "train_nn.py",
    "DistributedDataParallel",
    "times (goal 1)",
)
TRAINERS = ("train_nn", "ddp")
TURNS = 3


def section() -> str:
    """Measure rows per second of both, narrow and wide, small batches and large ones."""
    lines = []
    for hidden, batch in SHAPES:
        say(f"loops: {hidden}, {batch} rows a step: {', '.join(TRAINERS)} take turns ...")
        measures = {name: partial(rate, 2, name, hidden, batch) for name in TRAINERS}
        rates = take_turns(measures, TURNS)
        ours, ddp = (f"{statistics.median(rates[name]) / 1000:,.1f}" for name in TRAINERS)
        times = f"**{ratio(rates['train_nn'], rates['ddp']):.1f}**"
        lines.append([", ".join(map(str, hidden)), f"{batch:,}", ours, ddp, times])
    return (
        "### Two processes against the plain loop: thousand rows per second, one thread each\n\n"
        f"{as_table(COLUMNS, lines)}"
    )
