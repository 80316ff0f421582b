"""The main job, `make lesson`: one script trains in several places, and one table compares them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import GCP_helpers
import lesson
from lesson import plots, preparation, this_machine
from lesson.runs import Run, run_table
from local_cloud import LocalCloudError

CSV = "data/titanic_train.csv"
EPOCHS = 200


def main(folder: Path = lesson.ROOT) -> str | None:
    """Compare, with all that it makes below runs/ in `folder`; returns what is in its way."""
    os.chdir(folder)
    try:
        compare()
    except (lesson.LessonError, LocalCloudError, OSError) as problem:
        return f"lesson: {problem}"
    return None


def compare() -> None:
    """Prepare, train in each place, print the run table and where the picture lies."""
    lesson.opening()
    say(f"Preparing {CSV}, a made-up twin of the Titanic's passenger list ...")
    data = preparation.prepare(lesson.ROOT / CSV, "runs/data")
    print(f"{data.train} has {data.train_rows} rows, {data.val} has {data.val_rows}")
    say("Training on this machine ...")
    runs = [this_machine.train({"train": data.train, "val": data.val, "epochs": EPOCHS})]
    runs += on_vertex_ai(data)
    say("Drawing the learning curve ...")
    picture = plots.learning_curve(runs[-1])
    print(f"\n{run_table(runs).drop(columns='artefacts').to_string(index=False)}\n")
    print(f"The learning curve of the last run: {picture.path}")
    print("Next: `make lab` opens the notebooks; start with 02-train-locally.")


def on_vertex_ai(data: preparation.Prepared) -> list[Run]:
    """The same script as a job of one replica, and as a job of two that train one model."""
    say("Connecting to Vertex AI's SDK ...")
    GCP_helpers.connect()
    train, val = GCP_helpers.upload(data.train, data.val, prefix="data")
    runs = []
    for replicas in (1, 2):
        say(f"Training on Vertex AI, replicas: {replicas} ...")
        args = {"train": train, "val": val, "epochs": EPOCHS}
        runs.append(GCP_helpers.train(args, replicas=replicas))
    return runs


def say(line: str) -> None:
    """Print what comes next, at once, since it may take its time."""
    print(f"\n{line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
