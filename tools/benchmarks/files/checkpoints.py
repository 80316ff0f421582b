"""What checkpoints cost: the same training with them and without, in turns, in one process.

`python -m tools.benchmarks.files.checkpoints ROWS HIDDEN BATCH EPOCHS EVERY` prints as JSON the
seconds of an epoch without checkpoints, the seconds that a checkpoint holds up the training, and
what share more a training with them takes. They are written onto this machine's disk.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from functools import partial
from typing import Any

from testing.measure import as_table, last_line, say, take_turns
from tools.benchmarks.script import FEATURES

# rows, hidden widths, batch size (0: all rows), epochs of a run, epochs between checkpoints
SHAPES = [
    *((569, "64,32", 0, 300, every) for every in (1, 10, 100)),  # the Titanic's
    (65_536, "64,32", 1024, 20, 1),
    (1_048_576, "64,32", 1024, 3, 1),
    (65_536, "1024,1024", 1024, 3, 1),
]
COLUMNS = (
    "rows",
    "hidden",
    "an epoch, ms",
    "a checkpoint every",
    "each holds up the training, ms",
    "share that is added (goal under 2 %)",
)
PAIRS = 3  # of a run without and one with checkpoints, in each process
TURNS = 3


def write_table(folder: str, rows: int) -> list[str]:
    """Write random rows, a fifth of them for validation; return the script's flags."""
    import numpy as np

    flags = []
    for part, count in (("train", rows), ("val", rows // 4)):
        X = np.random.default_rng(0).standard_normal((count, FEATURES), dtype=np.float32)
        y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.float32)
        arrays: dict[str, Any] = {f"X_{part}": X, f"y_{part}": y}
        np.savez(f"{folder}/{part}.npz", **arrays)
        flags += [f"--{part}", f"{folder}/{part}.npz"]
    return flags


def main() -> None:
    """Run the script in this process, with a watch on the training and on every checkpoint."""
    import train_nn

    script: Any = train_nn
    rows, hidden, batch, epochs, every = sys.argv[1:]
    clock = {"train": 0.0, "save": 0.0, "saves": 0.0}
    train, save = script.fit, script.save_checkpoint

    def time_train(*arguments: Any) -> None:
        begun = time.perf_counter()
        train(*arguments)
        clock["train"] = time.perf_counter() - begun

    def time_save(*arguments: Any) -> None:
        begun = time.perf_counter()
        save(*arguments)
        clock["save"] += time.perf_counter() - begun
        clock["saves"] += 1

    script.fit, script.save_checkpoint = time_train, time_save
    with tempfile.TemporaryDirectory() as folder:
        flags = write_table(folder, int(rows))
        flags += ["--hidden", hidden, "--batch_size", batch, "--epochs", epochs, "--patience", "0"]

        def seconds(every: str) -> float:
            again = [*flags, "--model_dir", folder, "--checkpoint_every", every]
            if script.main(again):
                raise SystemExit("the script failed")
            return clock["train"]

        seconds(every)  # not counted
        clock.update(save=0.0, saves=0.0)
        pairs = [(seconds("0"), seconds(every)) for _ in range(PAIRS)]
    results = {
        "epoch": statistics.median(without for without, _ in pairs) / int(epochs),
        "held up": clock["save"] / clock["saves"],
        "share": statistics.median(on / without for without, on in pairs) - 1,
    }
    print(json.dumps(results))


def section() -> str:
    """Measure a few sizes of table and network; of the smallest also less frequent checkpoints."""
    say("checkpoints: a few sizes of table and network take turns ...")
    measures = {
        str(number): partial(
            last_line, "-m", "tools.benchmarks.files.checkpoints", *map(str, shape)
        )
        for number, shape in enumerate(SHAPES)
    }
    taken = take_turns(measures, TURNS)
    lines = []
    for (rows, hidden, *_, every), rounds in zip(SHAPES, taken.values(), strict=True):
        epoch, held, share = (
            statistics.median(one[name] for one in rounds) for name in ("epoch", "held up", "share")
        )
        often = "epoch" if every == 1 else f"{every} epochs"
        cells = [f"{1000 * epoch:,.1f}", often, f"{1000 * held:,.1f}", f"**{100 * share:,.1f} %**"]
        lines.append([f"{rows:,}", hidden.replace(",", ", "), *cells])
    return f"### What checkpoints cost\n\n{as_table(COLUMNS, lines)}"


if __name__ == "__main__":
    main()
