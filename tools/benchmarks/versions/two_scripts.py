"""Two versions of the script against each other, in turns, through their own commands.

`python -m tools.benchmarks.versions.two_scripts OLD NEW` takes two train_nn.py, each with its
companions beside it, and prints for each row the median of either and of their ratio; a ratio above
1.05 is marked. An older version is at hand with `git worktree add /tmp/old COMMIT`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from testing.measure import as_table, output, ratio, say, seconds, take_turns
from tools.benchmarks.versions import command

LIMIT = 1.05
COLUMNS = ("what", "unit", "old", "new", "new / old")
ROWS = 65_536
WIDE = "1024,1024"
Measure = Callable[[Path], float]  # of a version of the script, in the row's unit


def step(
    table: Path, rows: int, batch: int, script: Path, replicas: int = 1, hidden: str = "64,32",
    parallelism: str = "data", every: int = 0,
) -> float:  # fmt: skip
    """Return the microseconds of a step; every: epochs between checkpoints."""
    taken = command.epoch(
        script, table, replicas, batch_size=batch, hidden=hidden, parallelism=parallelism,
        checkpoint_every=every,
    )  # fmt: skip
    return 1e6 * taken / (rows / batch)


def whole(table: Path, epochs: int, script: Path) -> float:
    """Return the seconds of a process from its start to its exit, all rows in every step."""
    with tempfile.TemporaryDirectory() as folder:
        return seconds(str(script), *command.words(table, folder, epochs=epochs))


def shards(folder: Path, script: Path) -> float:
    """Return the milliseconds of an epoch on a folder of archives too large to be held."""
    val = next(folder.glob("*.npz"))
    return 1000 * command.epoch(script, folder, batch_size=4096, val=val, epochs=4)


def start_up(script: Path) -> float:
    """Return the milliseconds of --help."""
    return 1000 * seconds(str(script), "--help")


def measures(folder: Path) -> dict[str, tuple[str, Measure]]:
    """Return unit and measure of each row, by the row's words.

    The words before the colon are a group.
    """
    small = command.write_table(folder / "small.npz", 569, 7)
    rows = command.write_table(folder / "rows.npz", ROWS, 7)
    wide = command.write_table(folder / "wide.npz", 8192, 7)
    large = folder / "large"
    large.mkdir()
    command.write_table(large / "0.npz", 131_072, 256)
    for number in (1, 2, 3):
        (large / f"{number}.npz").hardlink_to(large / "0.npz")
    us, rows_of_table = "µs a step", dict[str, tuple[str, Measure]]()
    rows_of_table["start: --help"] = ("ms", start_up)
    rows_of_table["start: one epoch, the whole process"] = ("s", partial(whole, small, 1))
    rows_of_table["start: 1,000 epochs, the whole process"] = ("s", partial(whole, small, 1000))
    for batch in (64, 200, 1024, 16_384):
        rows_of_table[f"step: {batch:,} rows"] = (us, partial(step, rows, ROWS, batch))
    rows_of_table[f"step: 1,024 rows, {WIDE}"] = (us, partial(step, wide, 8192, 1024, hidden=WIDE))
    for batch in (128, 4096):
        two = partial(step, rows, ROWS, batch, replicas=2)
        rows_of_table[f"replicas: 2, {batch:,} rows"] = (us, two)
    two = partial(step, wide, 8192, 1024, replicas=2)
    rows_of_table[f"replicas: 2, 1,024 rows, {WIDE}"] = (us, partial(two, hidden=WIDE))
    rows_of_table["layers: 2 replicas share them, 1,024 rows"] = (
        us,
        partial(two, parallelism="model"),
    )
    kept = partial(step, rows, ROWS, 1024, every=1)
    rows_of_table["checkpoints: one in every epoch of 64 steps"] = (us, kept)
    rows_of_table["tables: an epoch on 512 MiB of archives"] = ("ms", partial(shards, large))
    return rows_of_table


def compare(old: Path, new: Path, rows: Mapping[str, tuple[str, Measure]], turns: int) -> None:
    """Print a line for each row as soon as it is measured, then the table."""
    lines = []
    for words, (unit, measure) in rows.items():
        say(f"{words}: old and new take turns ...")
        taken = take_turns({"old": partial(measure, old), "new": partial(measure, new)}, turns)
        times = ratio(taken["new"], taken["old"])
        medians = [statistics.median(each) for each in taken.values()]
        cells = [f"{each:,.0f}" if each > 100 else f"{each:.2f}" for each in medians]
        lines.append((words, unit, *cells, f"**{times:.2f}**" if times > LIMIT else f"{times:.2f}"))
        say(f"  {' | '.join(lines[-1])}")
    print(as_table(COLUMNS, lines))


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser("tools.benchmarks.versions.two_scripts", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--only", default="", metavar="GROUP,GROUP", help="start, step, replicas …")
    parser.add_argument("--turns", type=int, default=5, help="after one that is not counted")
    flags = parser.parse_args()
    for script in (flags.old, flags.new):
        output(str(script), "--help")
    with tempfile.TemporaryDirectory() as folder:
        rows = measures(Path(folder))
        groups = flags.only.split(",") if flags.only else [each.split(":")[0] for each in rows]
        wanted = {words: row for words, row in rows.items() if words.split(":")[0] in groups}
        compare(flags.old.resolve(), flags.new.resolve(), wanted, flags.turns)


if __name__ == "__main__":
    main()
