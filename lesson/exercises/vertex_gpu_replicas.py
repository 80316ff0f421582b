"""The exercises of episode 05, GPUs and several machines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.lettered import choice, one_each

CPU_HOURLY = 0.21849885  # n1-standard-4, as in GCP_helpers/costs.py, which a test compares
GPU_HOURLY = CPU_HOURLY + 0.4025  # the same with one T4


def _judge_moved(answer: str) -> str:
    code = re.sub(r"\s", "", answer).rstrip(";")
    if re.fullmatch(r"X=X\.to\((device=)?device(,non_blocking=True)?\)", code):
        return ""
    if re.fullmatch(r"X=torch\.zeros\(\(?10,7\)?,device=device\)", code):
        return ""
    if re.fullmatch(r"X\.to\((device=)?device\)", code):
        return "it makes a copy on the device and throws it away: X itself stays where it is."
    if re.fullmatch(r"X=X\.cuda\(\)", code):
        return "that fails on a machine without a GPU; the variable device says where to."
    if code == "model(X.to(device))":
        return "that would fix the last line; write the one that is missing before it."
    if "model" in code:
        return "the model has been moved; it is the rows that are elsewhere."
    return "move X to where `device` says, and keep the result under the name X."


moved = Exercise(
    str,
    _judge_moved,
    "A tensor's to() returns a copy; a model's moves the model itself.",
    "X is a tensor: what does a tensor's to() do to the tensor, and what does it return?",
)


def _judge_ran_on(answer: str, metrics: Mapping[str, Any]) -> str:
    if not isinstance(metrics, Mapping):
        return "hand metrics to check(), as the cell of the exercise does."
    if answer.lower() == str(metrics.get("device")).lower():
        return ""
    if "T4" in answer.upper():
        return "that is what the job asked for; the script has written down what it found."
    if answer in metrics:
        return f"that is a name in metrics; metrics[{answer!r}] is what stands under it."
    return "one of the names that the cell above prints says on what the script computed."


ran_on = Exercise(
    str,
    _judge_ran_on,
    "What a job asked for is a wish; this is what it computed on.",
    "metrics is a dictionary: look among its names for where PyTorch puts tensors.",
)


def _judge_break_even(answer: float) -> str:
    minutes = 65 * CPU_HOURLY / GPU_HOURLY
    if abs(answer - (minutes - 5)) < 0.3:
        return ""
    if abs(answer - 60 * CPU_HOURLY / GPU_HOURLY) < 0.3:
        return "you left the five minutes of starting out; they are paid, and at the higher price."
    if abs(answer - minutes) < 0.3:
        return "so long may the whole job take; five minutes of it are the start."
    if answer > 65:
        return "the GPU costs more by the hour, so its job has to be shorter."
    return "set the price of 65 minutes without a GPU equal to that of 5 + x minutes with one."


break_even = Exercise(
    float,
    _judge_break_even,
    "So the training itself has to become 3.4 times as fast before the GPU saves a cent.",
    "how long may the whole job take on the more expensive machine for the same money? The start "
    "is part of it.",
    unit="minutes",
)

naive_rows = choice(
    "A",
    {
        "B": "somebody would have to split the rows, and no line of naive.py does.",
        "C": "both replicas run the whole script; neither of them knows that it has company.",
    },
    "Nobody divided the work, so two machines did the same work twice.",
    "look for the line of naive.py that gives a replica a part of the rows.",
)


def _judge_third(answer: int) -> str:
    if answer == 379:
        return ""
    if answer in (284, 285):
        return "that is where the second of two replicas starts; now there are three."
    if answer in (189, 190):
        return "there the second of the three starts."
    if answer in (378, 380):
        return "nearly: two thirds of 569, rounded down."
    return "each replica gets a third of the 569 rows, the last one the rows at the end."


third = Exercise(
    int,
    _judge_third,
    "Rows 379 to 568: 190 of them, and none twice.",
    "replica r of n starts at row 569 * r // n, and replicas count from 0.",
)

choices = one_each(
    "ACDB",
    "ABCD",
    [
        "1: a job that takes seconds on one CPU is not worth another machine.",
        "2: the model fits on one GPU, and there is too much data for one: split the data.",
        "3: count 16 bytes for each weight; what does not fit has to be split itself.",
        "4: before several machines, take one that suits the work.",
    ],
    "Split the data when the data is too much, and the model when the model is too large.",
    "ask for each first: does it fit into the memory of one card? Then: is it slow enough to "
    "matter?",
)
