"""The main job, `make lesson`: prepare the data, train, show the runs and the picture."""

from __future__ import annotations

import os
import sys

import lesson
from lesson import plots, preparation, runs, this_machine

CSV = "data/titanic_train.csv"


def main() -> None:
    """Prepare, train on this machine, print the run table and where the picture lies."""
    os.chdir(lesson.ROOT)
    lesson.opening()
    print(f"\nPreparing {CSV}, a made-up twin of the Titanic's passenger list ...", flush=True)
    data = preparation.prepare(CSV, "runs/data")
    print(f"  {data.train} has {data.train_rows} rows, {data.val} has {data.val_rows}")
    print("\nTraining on this machine ...", flush=True)
    run = this_machine.train({"train": data.train, "val": data.val})
    print("\nDrawing the learning curve ...", flush=True)
    picture = plots.learning_curve(run)
    print(f"\n{runs.run_table([run]).to_string(index=False)}")
    print(f"\nThe learning curve: {picture.path}")
    print("Next: `make lab` opens the notebooks; start with 02-train-locally.")


if __name__ == "__main__":
    try:
        main()
    except (lesson.LessonError, OSError) as problem:
        sys.exit(f"lesson: {problem}")
