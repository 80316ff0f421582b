"""Measure everything in one run and print it as Markdown; with --write, into README.md, too.

Every measurement is a process of its own, and those that are compared take turns, so that a
machine that slows down for a while slows all of them. Medians and ratios are what to read.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from pathlib import Path

from benchmarks.threads import SHAPES
from lesson.preparation import prepare

ROOT = Path(__file__).parents[1]
README = ROOT / "benchmarks" / "README.md"
MARK = "<!-- written by `make bench` -->"
SCRIPT = ROOT / "training" / "train_nn.py"
BATCHES = (64, 200, 1024, 16_384)
TURNS = 7
# Operations that one row costs in a training step of a 7-64-32-1 network: 2 for each weight
# forward, 2 for its gradient, 2 for its input's gradient, which the first layer does not need.
OPERATIONS_PER_ROW = 6 * (7 * 64 + 64 * 32 + 32) - 2 * 7 * 64


def output(*command: str) -> str:
    """What a Python command prints, run from the repository's root."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def seconds(*command: str) -> float:
    """How long a Python command takes as a whole process."""
    begun = time.perf_counter()
    output(*command)
    return time.perf_counter() - begun


def take_turns(measures: Mapping[str, Callable[[], float]], turns: int) -> dict[str, list[float]]:
    """Every measure `turns` times, one after the other, after a first round that is not counted."""
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(turns + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in measures}


def ratio(slow: list[float], fast: list[float]) -> float:
    """The median, over the turns, of how many times longer the first took than the second."""
    return statistics.median(one / other for one, other in zip(slow, fast, strict=True))


def say(text: str) -> None:
    """Progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def whole_process() -> str:
    """1,000 full-batch epochs from start to exit, against the older lesson's loop."""
    say("whole process: the older loop and train_nn.py take turns ...")
    with tempfile.TemporaryDirectory() as folder:
        made = prepare(ROOT / "data/titanic_train.csv", folder)
        train, val = str(made.train), str(made.val)
        older = ("-m", "benchmarks.older_loop", train, val, folder, "1000")
        flags = ("--train", train, "--val", val, "--epochs", "1000", "--patience", "0")
        taken = take_turns(
            {
                "older": lambda: seconds(*older),
                "ours": lambda: seconds(str(SCRIPT), *flags, "--model_dir", folder),
                "torch": lambda: seconds("-c", "import torch"),
                "frozen": lambda: seconds("-c", "import gc, torch; gc.freeze()"),
            },
            TURNS,
        )
    older_s, ours_s, torch_s, frozen_s = (statistics.median(taken[name]) for name in taken)
    times = ratio(taken["older"], taken["ours"])
    return (
        "### 1,000 full-batch epochs on 569 x 7, the whole process\n\n"
        "| process | seconds (median) |\n|---|---|\n"
        f"| the older lesson's loop | {older_s:.2f} |\n| train_nn.py | {ours_s:.2f} |\n"
        f'| `python -c "import torch"` alone | {torch_s:.2f} |\n'
        f'| `python -c "import gc, torch; gc.freeze()"` | {frozen_s:.2f} |\n\n'
        f"train_nn.py is **{times:.1f} times** faster (goal: 3).\n"
    )


def rate(trainer: str, batch: int) -> float:
    """Rows per second of one trainer; of `matmul`, operations per second of this machine."""
    return float(output("-m", "benchmarks.step", trainer, str(batch)))


def step_speed() -> str:
    """Rows per second of the training step against scikit-learn, Lightning and the machine."""
    trainers = ("train_nn", "scikit-learn", "lightning")
    lines = []
    for batch in BATCHES:
        say(f"training step: batch {batch}, {', '.join(trainers)} and matmul take turns ...")
        measures = {name: partial(rate, name, batch) for name in (*trainers, "matmul")}
        rates = take_turns(measures, 3)
        ours = rates["train_nn"]
        of_peak = [
            100 * OPERATIONS_PER_ROW * rows / peak
            for rows, peak in zip(ours, rates["matmul"], strict=True)
        ]
        cells = [f"{statistics.median(rates[name]) / 1000:,.0f}" for name in trainers]
        cells += [f"**{ratio(ours, rates[name]):.1f}**" for name in trainers[1:]]
        lines.append([f"{batch:,}", *cells, f"{statistics.median(of_peak):.0f} %"])
    rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    say("memory: train_nn.py with and without the large block take turns ...")
    kept = take_turns(
        {
            name: partial(rate, name, BATCHES[-1])
            for name in ("train_nn", "train_nn-giving-memory-back")
        },
        3,
    )
    gain = ratio(kept["train_nn"], kept["train_nn-giving-memory-back"])
    return (
        "### The training step: thousand rows per second, 7-64-32-1, Adam\n\n"
        "| batch | train_nn.py | scikit-learn | Lightning | times scikit-learn (goal 1.5) "
        "| times Lightning (goal 4) | of one core's matrix product (goal 40 % from 1,024) |\n"
        f"|---|---|---|---|---|---|---|\n{rows}\n"
        f"Keeping the memory that a step frees makes batches of {BATCHES[-1]:,} rows **{gain:.1f} "
        "times** as fast.\n"
    )


def threads() -> str:
    """One thread against all of them, by shape."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    say(f"threads: 1 and {cores} take turns ...")
    rounds = [
        [json.loads(output("-m", "benchmarks.threads", str(count))) for count in (1, cores)]
        for _ in range(3)
    ]
    lines = []
    for place, (rows, hidden) in enumerate(SHAPES):
        one, many = ([turn[which][place] for turn in rounds] for which in (0, 1))
        weights = 7 * hidden[0] + hidden[0] * hidden[1] + hidden[1]
        lines.append(
            f"| {rows:,} | {hidden} | {6 * rows * weights / 1e6:,.0f} "
            f"| {statistics.median(one):,.0f} | {ratio(one, many):.2f} |\n"
        )
    return (
        f"### One thread against {cores}\n\n"
        "| rows per step | hidden | million operations per step | one thread, "
        f"microseconds | gain from {cores} threads |\n|---|---|---|---|---|\n{''.join(lines)}"
    )


def starting() -> str:
    """What a reader waits for before anything happens."""
    say("starting: --help, import lesson and an empty Python take turns ...")
    taken = take_turns(
        {
            "`train_nn.py --help`": lambda: seconds(str(SCRIPT), "--help"),
            '`python -c "import lesson"`': lambda: seconds("-c", "import lesson"),
            '`python -c "pass"`': lambda: seconds("-c", "pass"),
        },
        TURNS,
    )
    rows = "".join(
        f"| {name} | {statistics.median(times):.3f} |\n" for name, times in taken.items()
    )
    return f"### Starting\n\n| process | seconds (median) |\n|---|---|\n{rows}"


# What `benchmarks.jobs` measures: the row's words, and the goal in seconds.
JOBS = {
    "trivial": ("`CustomTrainingJob.run` of a trivial script", "0.5"),
    "trivial, no long poll": ("the same, looking every 5 s and not held", ""),
    "trivial, torchx": ("the same script, `torchx run -s local_cwd`", ""),
    "one replica": ("`CustomTrainingJob.run` of train_nn.py, 50 epochs, one replica", "2"),
    "bare script": ("train_nn.py alone, `python train_nn.py`", ""),
    "two replicas": ("`CustomTrainingJob.run` of train_nn.py, 50 epochs, two replicas", "4"),
    "trivial, SageMaker": ("`ModelTrainer.train` of the trivial script", ""),
    "one instance": ("`ModelTrainer.train` of train_nn.py, 50 epochs, one instance", ""),
    "two instances": ("`ModelTrainer.train` of train_nn.py, 50 epochs, two instances", ""),
    "two replicas, torchx": ("train_nn.py by torchx's `dist.ddp`, two processes", ""),
}


def last_line(*command: str) -> dict[str, list[float]]:
    """The JSON that a Python command prints last; what the SDK reports comes before it."""
    found: dict[str, list[float]] = json.loads(output(*command).splitlines()[-1])
    return found


def jobs() -> str:
    """From `run` to its return, on a warm local cloud."""
    say("jobs: the SDK on the local cloud, the bare script and torchx take turns ...")
    taken = last_line("-m", "benchmarks.jobs", str(TURNS))
    (taken["trivial, no long poll"],) = last_line(
        "-m", "benchmarks.jobs", "2", "--no-long-poll"
    ).values()
    rows = "".join(
        f"| {words} | {statistics.median(taken[name]):.2f} | {goal} |\n"
        for name, (words, goal) in JOBS.items()
    )
    return (
        "### A job, from `run` to its return, on a warm local cloud\n\n"
        f"| what | seconds (median) | goal, under |\n|---|---|---|\n{rows}"
    )


def buckets() -> str:
    """S3 by boto3, beside moto's server and plain files."""
    say("buckets: boto3 on the local cloud's S3 and on moto's, and plain files, take turns ...")
    rounds = json.loads(output("-m", "benchmarks.buckets", "5").splitlines()[-1])
    lines = []
    for name in rounds[0]["ours"]:
        ours, moto, disk = (
            [one[kind][name] for one in rounds if name in one[kind]]
            for kind in ("ours", "moto", "disk")
        )
        cells = [f"{statistics.median(times):.2f}" if times else "" for times in (ours, moto, disk)]
        lines.append(f"| {name} | {' | '.join(cells)} | **{ratio(moto, ours):.1f}** |\n")
    return (
        "### S3 by boto3: seconds (median)\n\n"
        "| what | the local cloud | moto's server | files, with fsync | times moto's speed |\n"
        f"|---|---|---|---|---|\n{''.join(lines)}"
    )


def main() -> None:
    """Measure, print, and write if asked to."""
    import torch

    parts = [whole_process(), step_speed(), threads(), starting(), jobs(), buckets()]
    place = f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}"
    head = f"Measured on {date.today()}: {place}, Python {platform.python_version()}.\n"
    results = "\n".join([head, *parts])
    print(results)
    if "--write" in sys.argv:
        before, _, rest = README.read_text(encoding="utf-8").partition(MARK)
        after = rest.partition(MARK)[2]
        README.write_text(f"{before}{MARK}\n\n{results}\n{MARK}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
