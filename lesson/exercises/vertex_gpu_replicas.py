"""The exercises of episode 05, GPUs and several machines."""

from __future__ import annotations

import re

from lesson.exercises import Exercise
from lesson.exercises.kinds.jobs import Record, job_to_send, not_succeeded
from lesson.exercises.kinds.letters import choice, one_each

CPU_HOURLY = 0.21849885  # n1-standard-4, as in GCP_helpers/costs.py, which a test compares
GPU_HOURLY = CPU_HOURLY + 0.4025  # the same with one T4


def _judge_moved(answer: str) -> str:
    code = re.sub(r"\s", "", answer).rstrip(";")
    if re.fullmatch(r"X=X\.to\((device=)?device(,non_blocking=True)?\)", code):
        return ""
    if re.fullmatch(r"X=torch\.zeros\(\(?10,7\)?,device=device\)", code):
        return ""
    if re.fullmatch(r"X\.to\((device=)?device\)", code):
        return "it makes a copy on the device and throws it away: X itself does not move."
    if re.fullmatch(r"X=X\.cuda\(\)", code):
        return "that fails on a machine without a GPU; the variable device says where to."
    if code == "model(X.to(device))":
        return "that would fix the last line; write the one that is missing before it."
    if "model" in code:
        return "the model is on the device already; the rows are not."
    return "move X to where `device` says, and keep the result under the name X."


moved = Exercise(
    str,
    _judge_moved,
    "On a tensor, to() returns a copy; on a model, it moves the model itself.",
    "X is a tensor: what does a tensor's to() do to the tensor, and what does it return?",
    kind="write",
)


def _judge_ran_on(record: Record) -> str:
    if record.spec.gpu != "NVIDIA_TESLA_T4":
        return f"it asked for {record.spec}: an argument of train() names the GPU."
    if record.epochs != 50:
        return f"it was to train for {record.epochs:.0f} epochs, not for 50."
    return not_succeeded(record)


ran_on = job_to_send(
    _judge_ran_on,
    "The job's record shows which GPU it requested, and its metrics show which device it used.",
    "help(train) lists the arguments; afterwards, look among the names in the metrics of the run.",
)


def _judge_break_even(answer: float) -> str:
    minutes = 65 * CPU_HOURLY / GPU_HOURLY
    if abs(answer - (minutes - 5)) < 0.3:
        return ""
    if abs(answer - 60 * CPU_HOURLY / GPU_HOURLY) < 0.3:
        return "you left out the five minutes of the start; you pay for them at the higher price."
    if abs(answer - minutes) < 0.3:
        return "that is the time for the whole job; five minutes of it are the start."
    if answer > 65:
        return "the GPU costs more by the hour, so its job has to be shorter."
    return "set the price of 65 minutes without a GPU equal to that of 5 + x minutes with one."


break_even = Exercise(
    float,
    _judge_break_even,
    "The training itself has to become 3.4 times as fast before the GPU saves a cent.",
    "how long may the whole job take on the more expensive machine for the same money? The start "
    "is part of it.",
    unit="minutes",
)

naive_rows = choice(
    "A",
    {
        "B": "somebody would have to split the rows, and no line of naive.py does.",
        "C": "both replicas run the whole script, from its first line to its last.",
    },
    praise="No line of the script divides the rows, so both machines did the same work.",
    advice="look for the line of naive.py that gives a replica a part of the rows.",
)


def _judge_third(record: Record) -> str:
    if record.spec.replicas != 3:
        return f"it was sent to {record.spec.replicas}, not to three replicas."
    return not_succeeded(record)


third = job_to_send(
    _judge_third,
    "The three parts have no gap and no row twice: replica r of n starts at row 569 * r // n.",
    "the argument has the name that the picture uses for the machines of a job.",
)

choices = one_each(
    "ACDB",
    "ABCD",
    wrong=[
        "1: a job that takes seconds on one CPU is not worth another machine.",
        "2: the model fits on one GPU, and there is too much data for one: split the data.",
        "3: count 16 bytes for each weight; a model that does not fit has to be split.",
        "4: before several machines, take one that suits the work.",
    ],
    praise="Three seconds need no GPU; many images need several GPUs for the rows; 30 billion "
    "weights fit on no card, so the model is split; and one GPU is enough for twenty hours on a "
    "CPU.",
    advice="ask for each first: does it fit into the memory of one card? Then: is it slow enough "
    "to matter?",
)
