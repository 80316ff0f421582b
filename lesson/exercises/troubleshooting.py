"""The exercises of episode 22, Troubleshooting."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from lesson.exercises.kinds.functions import call, function
from lesson.exercises.kinds.jobs import Record, job_to_send, not_succeeded
from lesson.exercises.kinds.letters import one_each

# Messages as the page shows them, some in other capitals, and whether a retry helps.
MESSAGES = {
    "InternalServerError: We encountered an internal error. Please try again.": True,
    "Internal error occurred for the current attempt.": True,
    "STOCKOUT: The job was interrupted 7 times, which is once too often.": True,
    "internal error occurred for the current attempt": True,
    "The following quota metrics exceed quota limits: custom_model_training_cpus": False,
    "ResourceLimitExceeded: the limit is 0 Instances, with a request delta of 1": False,
    "Could not assume role arn:aws:iam::000000000000:role/training.": False,
    "ClientError: Cannot pull algorithm container.": False,
    "Data download failed:PermanentRedirect (301): The bucket is in this region": False,
    "AlgorithmError: , exit code: 137": False,
    "No metric of the tag validation_loss was reported": False,
    "Model server never became ready.": False,
}

stage = one_each(
    "PRSP",
    "RSP",
    wrong=[
        "of the first message: an exit code comes from a process that ran.",
        "of the second message: when does the service look at the role?",
        "of the third message: without its image, can the script begin?",
        "of the fourth message: what has exited, if nothing has started?",
    ],
    praise="An exit code, or a status other than 0, means that your script ran: read its log.",
    advice="does the message name an exit code or a status, something that is missing at the "
    "start, or something that is not allowed?",
)


def _gib(machine: str) -> float:
    """Return the memory of a machine of SageMaker, by its family and size; 0 if that is not known.

    https://aws.amazon.com/ec2/instance-types/: 4 GiB for each vCPU of m5, 2 of c5, 8 of r5.
    """
    match = re.fullmatch(r"ml\.([a-z])\w*\.(?:(\d*)x)?large", machine)
    if not match:
        return 0
    family = {"m": 4, "c": 2, "r": 8, "g": 4, "p": 8}.get(match[1], 0)
    vcpus = 2 if match[2] is None else 4 * int(match[2] or 1)
    return family * vcpus


def _judge_larger(record: Record) -> str:
    if wrong := not_succeeded(record):
        return wrong
    if (memory := _gib(record.spec.machine)) <= 16:
        known = f"has {memory:g} GiB" if memory else "is not one whose memory is known here"
        return f"{record.spec.machine} {known}; take a machine with more than 16 GiB."
    return ""


larger = job_to_send(
    _judge_larger,
    "The next size has twice the memory for twice the price; smaller batches cost nothing.",
    "give train() a machine=; within a family, the next size has twice the memory.",
)


def _judge_again(is_worth_a_retry: Callable[..., Any]) -> str:
    for message, helps in MESSAGES.items():
        answered = call(is_worth_a_retry, message)
        if not isinstance(answered, bool):
            return f"it returns a {type(answered).__name__}; return True or False."
        if answered != helps:
            what = "sending it again helps" if helps else "the next try fails in the same way"
            return f"{message!r}: {what}."
    return ""


again = function(
    _judge_again,
    "Your function picks the faults that pass by themselves. Any other job fails again in the "
    "same way, and costs the same again.",
    "which two rows of the table have “yes” in their last column? Compare in lower case.",
)
