"""The exercises of episode 13, Keep track."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import number
from lesson.exercises.kinds.letters import choice, in_order, some
from lesson.jobs.runs import Run

# The learning rate of the run whose model carries the alias `champion` at the end of the page.
CHAMPION = 0.03


record = some(
    {
        "A": "with which learning rate would you train?",
        "B": "the name of a file does not tell which rows were in it on that day.",
        "C": "the same flags mean something else to another version of the script.",
        "D": "another version of torch, or another processor, may round in another way.",
    },
    {
        "E": "a curve tells how good the run was; the training does not read it.",
        "F": "a folder can be renamed, and another run can write into it.",
    },
    praise=(
        "Flags, rows, script and versions determine the model; the curve and the folder "
        "only describe it."
    ),
    advice="what would have to be equal on another machine, so that the same weights come out?",
)


def _judge_mixed(epochs: int) -> str:
    if epochs == 50:
        return ""
    return {
        100: "the second training says at its start that it begins again: TensorBoard then "
        "forgets the steps before.",
        150: "to TensorBoard a run is a folder; it does not join two runs to one.",
        0: "nothing looks whether the folder is empty: the second run writes into it.",
    }.get(epochs, "how many epochs did each of the two trainings have?")


mixed = Exercise(
    int,
    _judge_mixed,
    "The curve shows the second training. Now look whose flags TensorBoard shows.",
    "one folder is one run. What does the reader do with the first points when a program begins "
    "again?",
    unit="epochs",
)

FAST = "fast"  # of the three runs, the one that learns its rows by heart


def _judge_turn(answer: int, logs: str | os.PathLike[str]) -> str:
    if not isinstance(logs, str | os.PathLike) or not list(Path(logs, FAST).glob("events*")):
        return "hand logs to check(), as the cell of the exercise does, and train the three runs."
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def losses(run: str, tag: str) -> dict[int, float]:
        points = EventAccumulator(str(Path(logs, run))).Reload().Scalars(tag)
        return {point.step: point.value for point in points}

    seen, validation = losses(FAST, "loss"), losses(FAST, "val_loss")
    if answer not in validation:
        return f"the epochs of this run are those from 1 to {max(validation)}."
    if validation[answer] <= min(validation.values()) + 0.01:  # read off a picture
        return ""
    if answer in (max(validation), min(seen, key=lambda epoch: seen[epoch])):
        return "there the loss is low on its own rows; the validation loss is another curve."
    return f"there it is {validation[answer]:.2f}, and it has been lower. Is it the run {FAST}?"


turn = Exercise(
    int,
    _judge_turn,
    "After that epoch the run improves on its training rows only: it overfits.",
    "of which run do the two curves go apart? TensorBoard draws smoothed lines: set Smoothing to "
    "0, or take the lowest point of events.Scalars('val_loss') of that run.",
)

kept = some(
    {
        "A": "of A: such a job is given a folder in the bucket by AIP_TENSORBOARD_LOG_DIR.",
        "D": "of D: SageMaker copies the files of that folder to S3.",
    },
    {
        "B": "of B: that folder is on the machine, which is gone.",
        "C": "of C: nobody told the script to write any.",
    },
    praise="A and D wrote their events to a bucket, which outlives the machine. B's were on its "
    "disk, and C wrote none.",
    advice="ask of each: is it told to write events, and is the folder on the machine or in a "
    "bucket?",
)

# The team of the exercise “A year of events”: runs, KiB of each, dollars a month for a GiB.
RUNS, KIB, PRICE = 40_000, 17, 10


def _judge_price(answer: float) -> str:
    gib = RUNS * KIB / 2**20
    year = 12 * PRICE * gib
    if abs(answer - year) < 0.06 * year:  # of 1,000 bytes or of 1,024
        return ""
    if abs(answer - year / 12) < 0.06 * year / 12:
        return "that is one month; they are kept for twelve."
    if abs(answer - gib) < 0.06 * gib:
        return "so many GiB are kept; each of them has a price by the month."
    if answer in (8 * 300, 8 * 300 * 12):
        return "by users it was paid until August 2023."
    return "how many GiB are the runs together, and what do these cost in a month?"


price = Exercise(
    float,
    _judge_price,
    "Until August 2023 the team would have paid 28,800 dollars, for any number of runs.",
    "a GiB has 1024 * 1024 KiB, and a year twelve months.",
    unit="dollars",
)


def _judge_wrong_run(table: Any, runs: Mapping[str, Run]) -> str:
    if not runs or not isinstance(runs, dict) or not all(isinstance(r, Run) for r in runs.values()):
        return "hand runs to check(), as the cell of the exercise does."
    columns = getattr(table, "columns", ())
    if not {"run_name", "metric.loss"} <= {str(name) for name in columns}:
        return "the answer is the table of the experiment: table(MIXED)."
    losses = dict(zip(table["run_name"], table["metric.loss"], strict=True))
    if missing := runs.keys() - losses.keys():
        return f"the table has no run {min(missing)}."
    for name, run in runs.items():
        if run.loss is None or not abs(losses[name] - run.loss) < 0.0001:  # also if it is not there
            return (
                f"{name} has the loss {losses[name]}, and its training ended with {run.loss:.4f}."
            )
    return ""


wrong_run = Exercise(
    object,
    _judge_wrong_run,
    "Each loss is in its own run, in whatever order the runs ended.",
    "log_metrics has no argument for the run; what decides to which one it writes?",
    kind="write",
)

register = choice(
    "B",
    {
        "A": "it was judged on 40 rows; with others it could be the worst of the three.",
        "C": "the rows that chose it are the rows that judge it: that is a good mark for learning "
        "by heart.",
    },
    praise="B was judged on many rows, and none of them trained it or chose it.",
    advice="look at the last two columns first, and only then at the accuracy.",
)


NOTHING_YET = "there is nothing yet that could be compared or named."
promote = in_order(
    [
        ("B", "A", NOTHING_YET),
        ("B", "D", NOTHING_YET),
        ("A", "C", "whoever loads the champion in between gets a model that nobody has compared."),
        ("C", "D", "what is loaded by its alias is still the old one."),
    ],
    {"E": "without the old version there is no way back."},
    praise="The alias that others use moves last, in one step, and you keep the old version.",
    advice="at each moment somebody may load the champion: which model do they get?",
)


def _judge_lineage(rate_of: Any, name: str) -> str:
    if not isinstance(name, str) or not name.startswith("projects/"):
        return "hand the model's name to check(), as the cell of the exercise does."
    if not callable(rate_of) or isinstance(rate_of, type):
        return "the answer is a function: give its name, without quotes or parentheses."
    answer = number(rate_of, name)
    if abs(answer - CHAMPION) < 1e-9:
        return ""
    if abs(answer - 0.003) < 1e-9:
        return "that is version 1; the alias has moved."
    if answer in (1, 2):
        return "a number of a version; look into metrics.json beside its model.pt."
    return "no run here had that learning rate; read it out of metrics.json, under configuration."


lineage = Exercise(
    object,
    _judge_lineage,
    "The alias leads to a version, the version to its files, and the files to every flag.",
    "a model's .uri is the folder of its files, and metrics.json is one of them.",
    kind="write",
)
