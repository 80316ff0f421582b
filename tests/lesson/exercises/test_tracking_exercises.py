"""Every check() of episode 13 rejects the blank and typical wrong answers."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import ClassVar

import pandas as pd
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from lesson.exercises import tracking as exercises
from lesson.jobs.runs import Run
from tests.lesson.exercise_rules import Answers, Context, ExerciseRules

PAGE = Path(__file__).parents[3] / "episodes" / "13-tracking.md"

_home = tempfile.TemporaryDirectory(prefix="events-")
LOGS = Path(_home.name)


def write_curves() -> None:
    """Events of 20 epochs: the training loss falls to the end, the validation loss to epoch 5."""
    writer = EventFileWriter(str(LOGS / "fast"))
    for epoch in range(1, 21):
        for tag, value in (("loss", 1 / epoch), ("val_loss", 0.4 + 0.009 * abs(epoch - 5))):
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
            writer.add_event(Event(step=epoch, summary=summary))
    writer.close()


def table(**losses: float | None) -> pd.DataFrame:
    """An experiment with these runs."""
    losses_found = [float("nan") if loss is None else loss for loss in losses.values()]
    return pd.DataFrame({"run_name": list(losses), "metric.loss": losses_found})


MODEL = "projects/p/locations/us-central1/models/1"
RUNS = {
    name: Run("here", "m", 1.0, 0.8, loss, "runs/x")
    for name, loss in (("fast", 0.38121), ("slow", 0.39942))
}
write_curves()
ANSWERS: Answers = {
    "record": (
        ["ABCD", "d, c, b, a", "A, B, C and D"],
        [
            ("ABC", "round in another way"),
            ("ABD", "another version of the script"),
            ("ACD", "which rows"),
            ("BCD", "learning rate"),
            ("A", "on that day"),
            ("ABCDE", "does not read it"),
            ("ABCDF", "renamed"),
            ("flags", "from A to F"),
        ],
    ),
    "mixed": (
        [50, "50 epochs"],
        [(100, "begins again"), (150, "a folder"), (0, "nothing looks"), (30, "each of the two")],
    ),
    "turn": (
        [5, 6],  # where the curve is flat, a neighbour is as good
        [
            (20, "on its own rows"),
            (12, "has been lower"),
            (0, "from 1 to 20"),
            (200, "from 1 to 20"),
        ],
    ),
    "kept": (
        ["AD", "d, a"],
        [
            ("ABD", "which is gone"),
            ("ACD", "nobody told"),
            ("D", "a folder in the bucket"),
            ("A", "to S3"),
            ("E", "from A to D"),
        ],
    ),
    "price": (
        [77.8, 40_000 * 17 / 2**20 * 10 * 12, 81.6],
        [
            (6.5, "one month"),
            (0.65, "by the month"),
            (28_800, "until August 2023"),
            (680_000, "how many GiB"),
        ],
    ),
    "wrong_run": (
        [table(fast=0.3812, slow=0.3994), table(fast=0.38124, slow=0.39936, other=1)],
        [
            (table(fast=0.3994, slow=None), "fast has the loss 0.3994"),
            (table(fast=0.3812, slow=None), "slow has the loss"),
            (table(fast=0.3812), "no run slow"),
            (pd.DataFrame({"run_name": ["fast"]}), "table(MIXED)"),
            ("B", "table(MIXED)"),
        ],
    ),
    "register": (["B"], [("A", "40 rows"), ("C", "chose it"), ("D", "A, B, C")]),
    "promote": (
        ["BACD", "b a c d", "B, A, C, D"],
        [
            ("ABCD", "nothing yet"),
            ("BCAD", "nobody has compared"),
            ("BADC", "still the old one"),
            ("DBAC", "nothing yet"),
            ("BACDE", "no way back"),
            ("BAC", "four of the five"),
            ("BBAC", "once"),
            ("upload", "from A to E"),
        ],
    ),
    "lineage": (
        [lambda name: 0.03, lambda name: float(name == MODEL) * 0.03],
        [
            (lambda name: 0.003, "the alias has moved"),
            (lambda name: 2, "a number of a version"),
            (lambda name: 0.0003, "no run here"),
            (lambda name: name["rate"], "raises TypeError"),
            (lambda name: None, "returns nothing"),
            (0.03, "a function"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = PAGE.name
    module = exercises
    answers = ANSWERS
    context: ClassVar[Context] = {"turn": (LOGS,), "wrong_run": (RUNS,), "lineage": (MODEL,)}


def test_the_page_describes_the_team_that_the_exercise_calculates_with() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"{exercises.RUNS:,} runs of {exercises.KIB} KiB each" in page
    assert f"{exercises.PRICE} dollars a month for each GiB" in page


def test_the_champion_is_the_run_that_the_page_promotes() -> None:
    assert f'"fast": {exercises.CHAMPION}' in PAGE.read_text(encoding="utf-8")
