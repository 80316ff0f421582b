"""From one process to two: what is gained, and what the machine and torch's products allow."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

from testing.measure import as_table, ratio, say, take_turns
from tools.benchmarks.script import operations_per_row, together

# (hidden widths, rows of a step over all replicas)
SHAPES = [([64, 32], 4096), ([256, 256], 4096), ([1024, 1024], 4096)]
COLUMNS = (
    "hidden",
    "thousand rows a second, 1 process",
    "2 processes",
    "efficiency (goal 0.9)",
    "the machine's limit",
    "of that limit",
    "of a core's matrix product, 1 process",
    "of two cores', 2 processes",
)
TURNS = 3


def rate(count: int, trainer: str, hidden: list[int], batch: int) -> float:
    """Return rows per second of so many processes together; of matmul, operations per second."""
    return mean(
        together(count, "-m", "tools.benchmarks.replicas.replica", trainer, str(hidden), str(batch))
    )


def mean(said: list[dict[str, Any]]) -> float:
    """Return the processes' rate: each gives that of all, by its own clock."""
    return statistics.mean(float(one["rate"]) for one in said)


def section() -> str:
    """Measure the efficiency from 1 to 2 processes, beside what two processes apart reach."""
    lines = []
    for hidden, batch in SHAPES:
        say(f"scaling: {hidden}, one and two processes, two apart, and matmul take turns ...")
        measures = {
            "one": partial(rate, 1, "train_nn", hidden, batch),
            "two": partial(rate, 2, "train_nn", hidden, batch),
            "apart": partial(rate, 2, "apart", hidden, batch),
            "product": partial(rate, 1, "matmul", hidden, batch),
            "products": partial(rate, 2, "matmul", hidden, batch),
        }
        rates = take_turns(measures, TURNS)
        operations = operations_per_row(hidden)
        one, two = (f"{statistics.median(rates[name]) / 1000:,.1f}" for name in ("one", "two"))
        efficiency, limit = (ratio(rates[name], rates["one"]) / 2 for name in ("two", "apart"))
        shares = [
            f"{100 * operations * ratio(rates[ours], rates[peak]):.0f} %"
            for ours, peak in (("one", "product"), ("two", "products"))
        ]
        of_limit = f"{ratio(rates['two'], rates['apart']):.2f}"
        cells = [one, two, f"**{efficiency:.2f}**", f"{limit:.2f}", of_limit, *shares]
        lines.append([", ".join(map(str, hidden)), *cells])
    return (
        "### From one process to two: one thread each, 4,096 rows a step\n\n"
        f"{as_table(COLUMNS, lines)}"
    )
