"""The exercises of episode 08, GPUs and several instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import call, function, number
from lesson.exercises.kinds.jobs import Record, job_to_send, not_succeeded
from lesson.exercises.kinds.letters import choice, in_order
from lesson.jobs.runs import Run

HOURLY = 0.23  # ml.m5.xlarge, as in AWS_helpers/costs.py, which a test compares
BILLED, WAITED = 228, 198.36  # seconds, measured on the real service on 2024-11-03


def _judge_enabled(predict: Callable[..., Any]) -> str:
    import torch

    model, rows = torch.nn.Linear(7, 1), torch.zeros(10, 7)
    result = call(predict, model, rows, torch.device("meta"))
    if not isinstance(result, torch.Tensor):
        return f"it returns a {type(result).__name__}, not the model's output for the rows."
    if result.device.type == "cpu":
        return "it computes on the processor: nothing has been moved to the device."
    return "" if result.shape == (10, 1) else "it does not return the model's output for X."


enabled = function(
    _judge_enabled,
    "Without these two moves, the script computes on the processor, although the machine has a "
    "GPU.",
    "both have to be on the device: the model and the rows; each has a method to().",
)


def _judge_bill(answer: float) -> str:
    an_hour = answer / HOURLY * 3600  # the seconds that this amount pays for
    if abs(an_hour - BILLED) < 7:  # also rounded, to 0.015
        return ""
    if abs(an_hour - 2 * BILLED) < 3:
        return "the seconds of both instances are in the 228 already."
    if abs(an_hour - WAITED) < 1.5 or abs(an_hour - 2 * WAITED) < 3:
        return "the cell waited for that time; the other column has the billed seconds."
    if abs(an_hour - BILLED / 2) < 1.5:
        return "that is one of the two instances."
    if abs(answer - BILLED * HOURLY) < 1:
        return "the price is that of an hour, and 228 are seconds."
    return "take the billed seconds as hours, and the price of one ml.m5.xlarge."


bill = Exercise(
    float,
    _judge_bill,
    "Each of the two instances ran for 114 seconds, so together 228 were billed.",
    "how often is each instance counted in the column “billed”? Then mind the unit of `hours`.",
    unit="dollars",
)

two_logs = choice(
    "C",
    {
        "A": "somebody would have to split the rows, and no line of ordinary.py does.",
        "B": "that takes two things that no line of ordinary.py does: a split and an exchange.",
    },
    praise="Both instances did the same work, to the last digit, and both are billed.",
    advice="read ordinary.py as each of the two instances does: from its first line to its last.",
)


exchange = in_order(
    [
        ("C", "B", "backward() is called on a loss, which has to be there first."),
        ("B", "A", "the optimiser's step uses a gradient, which backward() computes."),
        ("B", "D", "before backward() there are no gradients of this step to average."),
        (
            "D",
            "A",
            "each instance would already have made the step of its own rows: the copies differ.",
        ),
    ],
    {"E": "the average of a loss is a number to read: no gradient passes through average()."},
    praise="The exchange belongs between the gradient and the step: all instances then make the "
    "same step.",
    advice="what has to be the same on all instances, so that the weights stay the same?",
)


def _judge_proof(record: Record) -> str:
    if record.spec.replicas != 3:
        return f"it ran on {record.spec.replicas}: a Compute says how many instances to rent."
    if wrong := not_succeeded(record):
        return wrong
    if not isinstance(record.answer, Run):
        return "give what send() returns: its metrics hold the proof."
    replicas = record.answer.metrics.get("replicas", [])
    rows = [row for each in replicas for row in range(each["rows"]["start"], each["rows"]["stop"])]
    if len(replicas) != 3 or len(rows) != len(set(rows)):
        return "its metrics do not say that three replicas had different rows: which script is it?"
    return ""


proof = job_to_send(
    _judge_proof,
    "Each instance had different rows, and there is one model. Three separate copies would be "
    "three models.",
    "the cell that made `together` has the call, and the variable `two` what has to change.",
)


def _judge_steps(steps: Callable[..., Any]) -> str:
    answer = number(steps, 569, 64, 2)
    if answer == 5:
        alone = number(steps, 569, 64, 1)
        return "" if alone == 9 else f"for one instance it returns {alone:g} steps, not nine."
    if answer == 9:
        return "that is the number for one instance alone, or for a global batch of 64."
    if 4 <= answer < 5:
        return "the rows that are left over make a step, too."
    if answer in (10, 18):
        return "the instances make their steps at the same time, together."
    return f"for two instances it returns {answer:g}: how many batches are in the rows of one?"


steps = function(
    _judge_steps,
    "An epoch has about half as many steps, each with twice the rows, so the model differs.",
    "an instance has 284 or 285 rows, and the last batch may be a small one: math.ceil rounds up.",
)
