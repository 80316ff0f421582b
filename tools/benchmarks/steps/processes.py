"""Whole processes, from start to exit."""

import statistics
import tempfile

from lesson.preparation import prepare
from testing.measure import as_table, ratio, say, seconds, take_turns
from tools.benchmarks.script import ROOT, SCRIPT

TURNS = 7


def whole_process() -> str:
    """1,000 full-batch epochs from start to exit, against the older lesson's loop."""
    say("whole process: the older loop and train_nn.py take turns ...")
    with tempfile.TemporaryDirectory() as folder:
        made = prepare(ROOT / "data/titanic_train.csv", folder)
        train, val = str(made.train), str(made.val)
        older = ("-m", "tools.benchmarks.steps.older_loop", train, val, folder, "1000")
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
    lines = [
        ("the older lesson's loop", f"{older_s:.2f}"),
        ("train_nn.py", f"{ours_s:.2f}"),
        ('`python -c "import torch"` alone', f"{torch_s:.2f}"),
        ('`python -c "import gc, torch; gc.freeze()"`', f"{frozen_s:.2f}"),
    ]
    return (
        "### 1,000 full-batch epochs on 569 x 7, the whole process\n\n"
        f"{as_table(('process', 'seconds (median)'), lines)}\n"
        f"train_nn.py is **{times:.1f} times** faster (goal: 3).\n"
    )


def starting() -> str:
    """Measure what a reader waits for before anything happens."""
    say("starting: --help, import lesson and an empty Python take turns ...")
    taken = take_turns(
        {
            "`train_nn.py --help`": lambda: seconds(str(SCRIPT), "--help"),
            '`python -c "import lesson"`': lambda: seconds("-c", "import lesson"),
            '`python -c "pass"`': lambda: seconds("-c", "pass"),
        },
        TURNS,
    )
    lines = [(name, f"{statistics.median(times):.3f}") for name, times in taken.items()]
    return f"### Starting\n\n{as_table(('process', 'seconds (median)'), lines)}"
