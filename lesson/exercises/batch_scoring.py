"""The exercises of episode 15, Score a whole file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import call, function
from lesson.exercises.kinds.letters import one_each

which = one_each(
    "OBBO",
    "OB",
    wrong=[
        "first case: somebody looks at the page and waits.",
        "second case: all instances are known, and a machine for an hour is enough.",
        "third case: nobody waits, and for 23 hours of the day there is nothing to do.",
        "fourth case: the customer is waiting.",
    ],
    praise=(
        "The visitor and the checkout wait for an answer. The archive and the list of the day "
        "are complete in advance."
    ),
    advice="ask of each: who waits, and is the whole file there when you begin?",
)

ERRORS = "".join(
    json.dumps({"instance": {"PassengerId": each}, "error": {"code": 3, "message": "bad"}}) + "\n"
    for each in (31, 4)
)


def _judge_failed(failed: Callable[..., Any]) -> str:
    answered = call(failed, ERRORS)
    if not isinstance(answered, list | tuple):
        return f"it returns a {type(answered).__name__}; the answer is a list of numbers."
    if list(answered) == [0, 1]:
        return "those are the lines of the error file; which passengers are in them?"
    if len(answered) == 2 and all(isinstance(each, Mapping) for each in answered):
        return "those are the whole instances; of each return its PassengerId."
    if list(answered) != [31, 4]:
        return f"for an error file with the passengers 31 and 4 it returns {answered}."
    if list(call(failed, "")):
        return "for an empty error file it should return an empty list."
    return ""


failed = function(
    _judge_failed,
    "Each line of the error file has the instance that failed. The job succeeds anyway, so "
    "without this file you miss these passengers.",
    "text.splitlines() gives the lines, and json.loads(line) what is in one.",
)

RESULTS = [
    {"instance": {"PassengerId": each}, "prediction": {"probability": chance, "class": 0}}
    for each, chance in ((9, 0.25), (7, 0.5))
]


def _judge_joined(joined: Callable[..., Any]) -> str:
    answered = call(joined, [7, 3, 9], [dict(each) for each in RESULTS])
    if not isinstance(answered, list | tuple):
        return f"it returns a {type(answered).__name__}; the answer is a list."
    plain = [None if each is None or each != each else each for each in answered]
    if plain == [0.5, None, 0.25]:
        return ""
    if plain[:2] == [0.25, 0.5]:
        return "that is the order of the file; the results need not have that of the passengers."
    if plain == [0.5, 0.25]:
        return "passenger 3 has no prediction: put None there, or all that follow are wrong."
    return f"for the passengers 7, 3 and 9 it should be [0.5, None, 0.25]; it returns {answered}."


joined = function(
    _judge_joined,
    "You joined by the key, not by position, so a missing result does not shift the others.",
    "first make a dictionary from PassengerId to probability; get() of it returns None for the "
    "missing ones.",
)


def _judge_scored(record: Any) -> str:
    known = isinstance(record, Mapping)
    if not known or not isinstance(record.get("TransformInput"), Mapping):
        return "the answer is what describe_transform_job returns."
    status = record.get("TransformJobStatus")
    if status == "Failed":
        return f"it has failed. {record.get('FailureReason', '')}"[:400]
    if status != "Completed":
        return f"it is {status}: wait for its end, and ask again."
    if record["TransformInput"].get("SplitType", "None") != "Line":
        return "it sent the file as one request: a larger file would not fit into one. Use Line."
    if record.get("TransformOutput", {}).get("AssembleWith", "None") != "Line":
        return "its answers are not on a line each: say how to assemble them."
    return ""


scored = Exercise(
    object,
    _judge_scored,
    "The output has a line for each line of the file, in the same order.",
    "the transformer of the page does it, if the file is good; the record is that of the new job, "
    "by its name.",
    kind="send",
)

MINUTES = 6  # of a job, with the start of its machine


def _judge_cheaper(answer: int) -> str:
    right = 24 * 60 // MINUTES
    if answer == right:
        return ""
    return {
        right + 1: "at one job less they cost the same already.",
        60 // MINUTES: "so many fit into an hour; the endpoint is paid for the day.",
        24 // MINUTES: "that takes the minutes for hours.",
        24: "that would be jobs of an hour.",
        24 * 60: "so many minutes has the day; how many of these does a job take?",
    }.get(answer, "how many minutes of a machine does a day of the endpoint have?")


cheaper = Exercise(
    int,
    _judge_cheaper,
    "240 jobs of six minutes use the machine all day, as the endpoint does. Fewer jobs cost less.",
    "the price of an hour is the same, so compare the minutes.",
    unit="jobs",
)
