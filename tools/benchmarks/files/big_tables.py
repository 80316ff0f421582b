"""A table larger than memory would like: mapped from its shards against rows in memory.

`python -m tools.benchmarks.files.big_tables KIND FOLDER` prints the seconds of one pass over the
table; the files are in the page cache. KIND is `files` (all numbers of the mapped files, in their
order, are added up: the limit), `memory` or `mapped` (the script's shuffled batches alone), or one
of these with `-trained` (an epoch of training on them).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from testing.measure import as_table, last_line, ratio, say, take_turns

SHARDS, ROWS, FEATURES = 8, 131_072, 256  # 128 MiB each, 1 GiB in all
BATCH, HIDDEN = 4096, [64, 32]
COLUMNS = ("what", "thousand rows per second", "of the rows in memory", "of the files' own speed")
KINDS = {
    "files": "the mapped files, added up in their order",
    "memory": "shuffled batches, rows in memory",
    "mapped": "shuffled batches, mapped files",
    "memory-trained": "an epoch, rows in memory",
    "mapped-trained": "an epoch, mapped files",
}
TURNS = 3


def write_shards(folder: Path) -> None:
    """Write random rows, a little different in each shard."""
    import numpy as np

    X = np.random.default_rng(0).standard_normal((ROWS, FEATURES), dtype=np.float32)
    y = (X[:, 0] > 0).astype(np.float32)
    for number in range(SHARDS):
        X[:, 1] = number / SHARDS
        np.savez(folder / f"{number}.npz", X_train=X, y_train=y)


def one_pass(kind: str, table: Any) -> float:
    """Return the seconds of one pass."""
    import torch

    from tools.benchmarks.steps import epochs

    training = epochs.ready_to_train(table, HIDDEN, BATCH)
    begun = time.perf_counter()
    if kind == "files":
        for part in table.held.parts:
            part.X.sum()
    elif kind.endswith("-trained"):
        epochs.train_one_epoch(training)
    else:
        for batch in table.batches(BATCH, torch.Generator().manual_seed(0)):
            for _ in batch.pieces:
                pass
    return time.perf_counter() - begun


def main() -> None:
    """Read the table, which brings the files into the page cache, and time the second pass."""
    import torch

    import big_tables

    kind, folder = sys.argv[1:]
    torch.set_num_threads(1)
    cpu = torch.device("cpu")
    table = big_tables.read_table(folder, "train", rank=0, replicas=1, device=cpu, labels=(0, 1))
    if kind.startswith("memory") and isinstance(table.held, big_tables.RowsInFiles):
        table.held = table.held.in_memory()
    print(min(one_pass(kind, table) for _ in range(2)))


def section() -> str:
    """Measure batches alone and whole epochs, of rows in memory and of mapped files."""
    say("big tables: 1 GiB of shards is written, then read in five ways that take turns ...")
    with tempfile.TemporaryDirectory() as folder:
        write_shards(Path(folder))
        measures = {
            kind: partial(last_line, "-m", "tools.benchmarks.files.big_tables", kind, folder)
            for kind in KINDS
        }
        taken = take_turns(measures, TURNS)
    lines = []
    for kind, words in KINDS.items():
        rate = SHARDS * ROWS / statistics.median(taken[kind]) / 1000
        memory = taken[kind.replace("mapped", "memory")]
        of_memory = f"**{ratio(memory, taken[kind]):.2f}**" if kind.startswith("mapped") else ""
        lines.append(
            (words, f"{rate:,.0f}", of_memory, f"{ratio(taken['files'], taken[kind]):.2f}")
        )
    return (
        f"### A table of {SHARDS} shards of {ROWS:,} x {FEATURES}, 1 GiB, in the page cache\n\n"
        f"{as_table(COLUMNS, lines)}"
    )


if __name__ == "__main__":
    main()
