"""The script of an earlier commit against today's, in turns, beside what others would write.

`python -m tools.benchmarks.versions.before_after COMMIT` takes the folder `training` of that commit
from git and prints tables in about three minutes: steps of one process and of two, whole processes,
jobs that start warm, and checkpoints. `--only steps,replicas,processes,jobs,checkpoints` prints
some of them.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from testing.measure import as_table, last_line, ratio, say, seconds, take_turns
from tools.benchmarks.script import ROOT, SCRIPT, together
from tools.benchmarks.versions import command

INTERLEAVED = "tools.benchmarks.versions.interleaved"
TURNS = 4
ALONE = {  # rows of a step: rows of the table; the last step is over a whole table
    64: 4096,
    1024: 16_384,
    16_384: 16_384,
}
TOGETHER = {128: 4096, 4096: 16_384}  # of both replicas
CHECKPOINTS = {(569, 0): 60, (16_384, 1024): 20}  # rows, batch size (0: all): epochs
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def folder_of(commit: str, folder: Path) -> Path:
    """Bring the script of a commit into a folder, with the files beside it; return its path."""
    archive = subprocess.run(
        ["git", "archive", commit, "training"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "training" / "train_nn.py"


def steps(before: Path) -> str:
    """Measure a step of one process against the step of others."""
    lines = []
    for batch, rows in ALONE.items():
        say(f"steps: {batch:,} rows ...")
        taken = last_line(
            "-m", INTERLEAVED, "steps", str(before), str(batch), str(rows), **ONE_THREAD
        )  # fmt: skip
        words = f"{batch:,}" + (", the whole table" if batch == rows else "")
        lines.append([words, *rounded(taken, 1e6, batch / rows)])
    names = ("a plain loop", "scikit-learn", "Lightning")
    return page("#### A step of 7-64-32-1, µs", ("rows", *columns(names)), lines)


def replicas(before: Path) -> str:
    """Measure a step of two processes against DistributedDataParallel's."""
    lines = []
    for batch, rows in TOGETHER.items():
        say(f"replicas: {batch:,} rows ...")
        first, _ = together(
            2,
            "-m",
            INTERLEAVED,
            "steps",
            str(before),
            str(batch),
            str(rows),
        )
        lines.append([f"{batch:,}", *rounded(first, 1e6, batch / rows)])
    heading = "#### A step of two replicas, 7-64-32-1, µs"
    return page(heading, ("rows of both", *columns(("DistributedDataParallel",))), lines)


def processes(before: Path) -> str:
    """Measure `python train_nn.py` from its start to its exit, on 569 rows, all in one step."""
    say("processes: before and after ...")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        table = command.write_table(Path(folder, "table.npz"), 569, 7)
        for epochs in (1, 1000):
            words = command.words(table, folder, epochs=epochs)
            measures = {
                "before": partial(seconds, str(before), *words),
                "after": partial(seconds, str(SCRIPT), *words),
            }
            what = "1 epoch" if epochs == 1 else f"{epochs:,} epochs"
            lines.append([what, *rounded(take_turns(measures, TURNS), 1, 1)])
    heading = "#### A whole process that starts cold, s"
    return page(heading, ("what", *columns(())), lines)


def jobs(before: Path) -> str:
    """Measure a job of 50 epochs, from the SDK's `run` to its return."""
    say("jobs: before and after, on a warm local cloud ...")
    taken = last_line("-m", INTERLEAVED, "jobs", str(before), str(TURNS))
    heading = "#### A job that starts warm, 50 epochs, s"
    return page(heading, ("what", *columns(())), [["one replica", *rounded(taken, 1, 1)]])


def checkpoints(before: Path) -> str:
    """Measure an epoch with a checkpoint at its end, beside one without."""
    lines = []
    for (rows, batch), epochs in CHECKPOINTS.items():
        say(f"checkpoints: {rows:,} rows ...")
        taken = last_line(
            "-m", INTERLEAVED, "checkpoints", str(before), str(rows), str(batch), str(epochs),
            **ONE_THREAD,
        )  # fmt: skip
        without = [digits(1000 * statistics.median(taken[name])) for name in ("before", "after")]
        with_one = {name: taken[f"{name}, on"] for name in ("before", "after")}
        lines.append([f"{rows:,}", *without, *rounded(with_one, 1000, 1)])
    heading = "#### An epoch with a checkpoint at its end, ms"
    return page(heading, ("rows", "without, before", "without, after", *columns(())), lines)


def columns(others: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of times and of their ratios."""
    return ("before", "after", "after / before", *others, *(f"{name} / after" for name in others))


def rounded(taken: Mapping[str, list[float]], unit: float, fraction: float) -> list[str]:
    """Return the medians, and the median ratios within a round."""
    (_, before), (_, after), *others = taken.items()
    medians = [unit * fraction * statistics.median(each) for each in (before, after)]
    rest = [unit * fraction * statistics.median(each) for _, each in others]
    ratios = [f"{ratio(each, after):.2f}" for _, each in others]
    return [*map(digits, medians), f"**{ratio(after, before):.2f}**", *map(digits, rest), *ratios]


def digits(number: float) -> str:
    """Return a number with about three digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2f}"


def page(heading: str, names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table below its heading."""
    return f"{heading}\n\n{as_table(names, lines)}"


SECTIONS: dict[str, Callable[[Path], str]] = {
    "steps": steps,
    "replicas": replicas,
    "processes": processes,
    "jobs": jobs,
    "checkpoints": checkpoints,
}


def main() -> None:
    """Print each table as soon as it is measured."""
    parser = argparse.ArgumentParser("tools.benchmarks.versions.before_after", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("--only", default=",".join(SECTIONS), metavar="NAME,NAME")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = folder_of(flags.commit, Path(folder))
        for name in flags.only.split(","):
            print(SECTIONS[name](before), flush=True)


if __name__ == "__main__":
    main()
