"""The exercises of episode 23, clean up, and what next."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from lesson import LessonError
from lesson.exercises import Exercise
from lesson.exercises.kinds.letters import in_order, some

if TYPE_CHECKING:
    import numpy as np

HOURS = 9.0  # 20 learners × 12 jobs × 135 seconds


still_costs = some(
    {
        "B": "of B: files are paid by the month, whoever wrote them.",
        "C": "of C: it waits on a machine of its own, asked or not.",
        "E": "of E: the tab is on your machine, and what is paid is elsewhere.",
        "F": "of F: what does a month of its events cost?",
    },
    {
        "A": "of A: which machine does a job have that has ended?",
        "D": "of D: its machines were given back when the last trial ended.",
    },
    praise=(
        "The job and the study have ended by themselves. The endpoint's and the notebook's "
        "machines still run, and files are still stored."
    ),
    advice="ask of each: is there still a machine, or a file, that somebody keeps for you?",
)


def _judge_forgotten(answer: float) -> str:
    if abs(answer - HOURS) < 0.01:
        return ""
    if abs(answer - HOURS * 3600) < 1 or abs(answer - HOURS * 60) < 0.1:
        return "that is the time in another unit; give hours."
    if abs(answer - HOURS / 20) < 0.01:
        return "those are the jobs of one learner; how many learners are there?"
    if abs(answer - HOURS / 12) < 0.01:
        return "that is one job of each; how many does each of them send?"
    return "how many hours of the machine do all the jobs take together?"


forgotten = Exercise(
    float,
    _judge_forgotten,
    "The jobs add up to nine hours of a machine, so at two in the morning the notebook has cost "
    "as much. The weekend costs more.",
    "at the same price by the hour, compare hours with hours: 3600 seconds are one.",
    unit="hours",
)


order = in_order(
    [
        ("C", "A", "what is deleted before you have read the list, nobody brings back."),
        ("B", "A", "cleanup deletes nothing while a job runs."),
        ("E", "A", "results that you want to keep are in that bucket."),
        ("B", "E", "a job that still runs has not written its results yet."),
        ("A", "D", "first delete, and then look whether it is gone."),
    ],
    {},
    praise="When you delete, no job runs any more and the results are on your machine. The last "
    "call shows that nothing is left.",
    advice="which of the five cannot be taken back? What has to have happened before it?",
)


def _judge_leak(answer: Any) -> str:
    rows, leaks = getattr(answer, "rows", None), getattr(answer, "leaks", None)
    if not isinstance(rows, list) or not isinstance(leaks, list):
        return "the answer is the bill that local_cloud.bill() returns."
    hourly = [leak for leak in leaks if getattr(leak, "kind", "") != "bucket"]
    for leak in hourly:
        price = getattr(leak, "dollars_per_day", None)
        each = f"{price:.2f} dollars a day" if price is not None else "money"
        return f"{leak.what} still costs {each}: end it, then ask for the bill again."
    if not any("notebook instance" in str(getattr(row, "what", "")) for row in rows):
        return "no notebook instance is on this bill: run the cell above that creates one."
    return ""


leak = Exercise(
    object,
    _judge_leak,
    "Only files are left, for cents. Jobs that have ended stay on the bill, and cost nothing more.",
    "the leak report ends each entry with the call that ends it: copy that line into the cell.",
    kind="write",
)


def _rows(folder: str, part: str, count: int) -> np.ndarray:
    """Return the rows of an archive, which has to have `count` of them, with a label for each."""
    import numpy as np

    path = os.path.join(folder, f"{part}_data.npz")
    if not os.path.isfile(path):
        raise LessonError(f"there is no {path}.")
    try:
        with open(path, "rb") as file:
            archive = np.lib.npyio.NpzFile(file)
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as problem:
        raise LessonError(f"{path} is no archive of numbers: {problem}") from None
    for name, shape in ((f"X_{part}", (count, 12)), (f"y_{part}", (count,))):
        if name not in arrays:
            raise LessonError(f"{path} has no array {name}.")
        if arrays[name].dtype.kind not in "biuf":
            raise LessonError(f"{name} holds something else than numbers.")
        if arrays[name].shape != shape:
            raise LessonError(f"{name} has the shape {arrays[name].shape}, not {shape}.")
    rows: np.ndarray = arrays[f"X_{part}"]
    return rows


def _judge_own_table(answer: str) -> str:
    import numpy as np

    if not answer:
        return "name the folder of the two archives."
    train, val = (_rows(answer, part, count) for part, count in (("train", 1600), ("val", 400)))
    if abs(train.std(axis=0) - 1).max() > 0.2:
        return "the columns are not on one scale: use what the scaler returns."
    fitted, alone = (bool(abs(each.mean(axis=0)).max() < 1e-6) for each in (train, val))
    if fitted and alone:
        return "the validation rows have a scaler of their own: use that of the training rows."
    if abs(np.concatenate([train, val]).mean(axis=0)).max() < 1e-6:
        return "the scaler has seen the validation rows: fit it on X_train alone."
    if not fitted:
        return "the training columns have no mean of 0: fit the scaler on X_train."
    return ""


own_table = Exercise(
    str,
    _judge_own_table,
    "The archives have the names that the script knows, and no validation row has "
    "influenced the training.",
    "the scaler learns the mean of each column from the rows that fit() is given.",
    kind="write",
)
