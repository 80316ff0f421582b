"""The exercises of episode 23, clean up, and what next."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

from lesson.exercises import Exercise, letters

HOURS = 9.0  # 20 learners × 12 jobs × 135 seconds


def _judge_still_costs(answer: str) -> str:
    chosen = set(letters(answer, "F"))
    if not chosen:
        return "give letters from A to F, as in 'ABC'."
    wrong = {
        "A": "of A: which machine does a job have that has ended?",
        "D": "of D: its machines were given back when the last trial ended.",
    }
    missing = {
        "B": "of B: files are paid by the month, whoever wrote them.",
        "C": "of C: it waits on a machine of its own, asked or not.",
        "E": "of E: the tab is on your machine, and what is paid is elsewhere.",
        "F": "of F: what does a month of its events cost?",
    }
    told = [why for letter, why in wrong.items() if letter in chosen]
    told += [why for letter, why in missing.items() if letter not in chosen]
    return next(iter(told), "")


still_costs = Exercise(
    str,
    _judge_still_costs,
    "Jobs and studies end by themselves; what waits or is kept does not.",
    "ask of each: is there still a machine, or a file, that somebody keeps for you?",
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
    "From 17:00 to two in the morning. What comes after it, the weekend, is dearer than the day.",
    "at the same price by the hour, compare hours with hours: 3600 seconds are one.",
)


def _judge_order(answer: str) -> str:
    order = letters(answer, "E")
    if sorted(order) != sorted("ABCDE"):
        return "give each of the five letters once."
    place = order.index
    rules = [
        (
            place("C") < place("D"),
            "what is deleted before you have read the list, nobody brings back.",
        ),
        (place("A") < place("D"), "cleanup deletes nothing while a job runs."),
        (place("B") < place("D"), "results that you want to keep are in that bucket."),
        (place("A") < place("B"), "a job that still runs has not written its results yet."),
        (place("D") < place("E"), "first delete, and then look whether it is gone."),
    ]
    return next((why for met, why in rules if not met), "")


order = Exercise(
    str,
    _judge_order,
    "Nothing runs, nothing is lost, and the proof comes last.",
    "which of the five cannot be taken back? What has to have happened before it?",
)


def _judge_own_table(answer: str) -> str:
    import numpy as np

    if not answer:
        return "name the folder in which the two archives lie."
    arrays: dict[str, np.ndarray] = {}
    for part in ("train", "val"):
        path = Path(answer) / f"{part}_data.npz"
        if not path.is_file():
            return f"there is no {path}."
        try:
            arrays |= np.load(path)
        except (OSError, ValueError, BadZipFile) as problem:
            return f"{path} is no archive of numbers: {problem}"
        for name in (f"X_{part}", f"y_{part}"):
            if name not in arrays:
                return f"{path.name} has no array {name}."
    train, val = arrays["X_train"], arrays["X_val"]
    if train.shape != (1600, 12) or val.shape != (400, 12):
        return f"1600 and 400 rows of 12 columns were asked for, not {train.shape} and {val.shape}."
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
    "Two archives with the names that the script knows, and no validation row has helped.",
    "the scaler learns the mean of each column from the rows that fit() is given.",
)
