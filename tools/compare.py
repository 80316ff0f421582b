"""The main job, `make lesson`: one script trains in three places, and one table compares them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import AWS_helpers
import GCP_helpers
import lesson
from lesson import preparation
from lesson.jobs.runs import Run
from lesson.machines import this_machine
from lesson.show import plots
from lesson.show.progress import wrap
from lesson.show.run_table import run_table
from local_cloud import LocalCloudError

CSV = "data/titanic_train.csv"
EPOCHS = 200
PICTURE = Path("runs/comparison.png")
SERVICES = {"Vertex AI": GCP_helpers, "SageMaker": AWS_helpers}
SAME = (
    "The accuracy is the same in every row: each run begins with the same weights, and averages the"
    "\ngradients over the same rows at every step, on however many machines these rows lie."
)
STOPPED = "stopped before its end; a job that was sent ends by itself, `make lesson` begins again"


def main(folder: Path = lesson.ROOT) -> str | None:
    """Compare, with all that it makes below runs/ in `folder`; returns what is in its way."""
    os.chdir(folder)
    try:
        compare()
    except KeyboardInterrupt:
        return f"lesson: {STOPPED}"
    except (lesson.LessonError, LocalCloudError, OSError) as problem:
        watched = isinstance(problem.__context__, KeyboardInterrupt)  # it names verbs of a notebook
        return f"lesson: {STOPPED if watched else problem}"
    return None


def compare() -> list[Run]:
    """Prepare, train in each place, print the run table and where the pictures lie."""
    lesson.show_target()
    say(f"Preparing {CSV}, a made-up twin of the Titanic's passenger list ...")
    data = preparation.prepare(lesson.ROOT / CSV, "runs/data")
    print(f"{data.train} has {data.train_rows} rows, {data.val} has {data.val_rows}")
    say("Training on this machine ...")
    runs = [this_machine.train({"train": data.train, "val": data.val, "epochs": EPOCHS})]
    for service, helpers in SERVICES.items():
        runs += on_a_service(service, helpers, data)
    say("Drawing the pictures ...")
    curve, bars = plots.learning_curve(runs[-1]), plots.comparison(runs, PICTURE)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print(f"\n{run_table(runs).as_text(width)}\n")
    if len({run.score for run in runs}) == 1:
        print(wrap(SAME))
    print(f"The times side by side: {bars.path}")
    print(f"The learning curve of the last run: {curve.path}")
    print("Next: `make lab` opens the notebooks; begin with 01-introduction.")
    return runs


def on_a_service(service: str, helpers: Any, data: preparation.Prepared) -> list[Run]:
    """Train the same script as a job of one machine, and as a job of two that train one model."""
    say(f"Connecting to {service}'s SDK ...")
    helpers.connect()
    train, val = helpers.upload(data.train, data.val, prefix="data")
    send: Callable[..., Run] = helpers.train
    runs = []
    for replicas in (1, 2):
        say(f"Training on {service}, machines: {replicas} ...")
        runs.append(send({"train": train, "val": val, "epochs": EPOCHS}, replicas=replicas))
    return runs


def say(line: str) -> None:
    """Print what comes next, at once, since it may take its time."""
    print(f"\n{wrap(line)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
