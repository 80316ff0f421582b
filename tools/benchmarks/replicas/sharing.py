"""What a replica holds, and how long a step takes, where rows or layers are shared out."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

from testing.measure import as_table, say, take_turns
from tools.benchmarks.script import together

SHAPES = [([64, 32], 1024), ([1024, 1024], 1024)]  # hidden widths, rows of a step
# the row's words, the trainer of `tools.benchmarks.replicas.replica`, and how many processes
KINDS = {
    "one replica": ("train_nn", 1),
    "`--parallelism data`, 2 replicas": ("train_nn", 2),
    "`--parallelism model`, 2 replicas": ("train_nn-model", 2),
    "FSDP (`fully_shard`), 2 replicas": ("fsdp", 2),
}
COLUMNS = (
    "hidden",
    "what",
    "a step, ms",
    "parameters, KB each",
    "optimiser, KB each",
    "of one replica's",
)
TURNS = 3


def replicas(trainer: str, count: int, hidden: list[int], batch: int) -> dict[str, Any]:
    """Return what the replica says that holds most."""
    said = together(
        count, "-m", "tools.benchmarks.replicas.replica", trainer, str(hidden), str(batch)
    )
    return max(said, key=lambda one: sum(one["bytes"].values()))


def section() -> str:
    """Measure milliseconds and bytes, one replica against two of each kind."""
    lines = []
    for hidden, batch in SHAPES:
        say(f"sharing: {hidden}: one replica, data, model and FSDP take turns ...")
        measures = {words: partial(replicas, *kind, hidden, batch) for words, kind in KINDS.items()}
        taken = take_turns(measures, TURNS)
        whole = sum(taken["one replica"][0]["bytes"].values())
        for words, rounds in taken.items():
            held = rounds[0]["bytes"]
            size = [f"{held[name] / 1000:,.0f}" for name in ("parameters", "optimiser")]
            share = f"{100 * sum(held.values()) / whole:.0f} %"
            step = statistics.median(one["ms"] for one in rounds)
            lines.append([", ".join(map(str, hidden)), words, f"{step:,.1f}", *size, share])
    return (
        "### What two replicas share: 1,024 rows a step, one thread each\n\n"
        f"{as_table(COLUMNS, lines)}"
    )
