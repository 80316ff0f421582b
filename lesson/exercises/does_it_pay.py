"""The exercises of episode 10, when a second replica pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import function, number
from lesson.exercises.kinds.letters import choice, one_each, some

HOURLY = 0.23  # ml.m5.xlarge, as in AWS_helpers/costs.py, which a test compares
# Seconds of the whole command, by number of replicas: of a run of 20 epochs, and of one of 220.
SHORT, LONG = {1: 3.0, 2: 3.4}, {1: 13.0, 2: 9.65}
BILLED, LOOP = 135, 5  # seconds

direction = choice(
    "B",
    {
        "A": "the exchange grows with the weights, but what do the weights do to each row's work?",
        "C": "both sides change: how much there is to share out, and how much to exchange.",
    },
    praise=(
        "A step sends each weight's gradient once, but computes with the weight once for each row."
    ),
    advice="compare what a weight costs in the exchange, and what it costs in the shared part.",
)


def _near(answer: float, value: float, share: float = 0.02) -> bool:
    return abs(answer - value) <= share * value


def _judge_timing(speed_up: Callable[..., Any]) -> str:
    answer = number(speed_up, SHORT, LONG)
    right = (LONG[1] - SHORT[1]) / (LONG[2] - SHORT[2])
    if _near(answer, right):
        again = number(speed_up, {1: 2.0, 2: 3.0}, {1: 6.0, 2: 5.0})
        return "" if _near(again, 2.0) else "it has to calculate with the seconds that it is given."
    if _near(answer, 1 / right):
        return "that is two replicas' time by one's: turn it round."
    if _near(answer, SHORT[1] / SHORT[2]) or _near(answer, LONG[1] / LONG[2]):
        return "those seconds still hold the start, which is no part of an epoch."
    return "how many seconds more do 200 epochs more take, with one replica and with two?"


timing = function(
    _judge_timing,
    "The start-up time cancels out: 200 more epochs take 10 seconds with one replica, and 6.25 "
    "with two.",
    "the two runs of one replica differ in 200 epochs, and in nothing else.",
)


def _judge_efficiency(efficiency: Callable[..., Any]) -> str:
    answer = number(efficiency, 4, 20, 1, 4)
    if _near(answer, 0.6, 0.01):
        again = number(efficiency, 5, 40, 5, 2)
        return "" if _near(again, 0.75) else "it has to calculate with the times that it is given."
    if _near(answer, 2.4) or _near(answer, 240):
        return "that is the speed-up; what share of the four replicas is it?"
    if _near(answer, 60):
        return "give it as a number between 0 and 1."
    if _near(answer, 24 / (4 + 20 / 4) / 4, 0.01):
        return "four replicas exchange their gradients, too: that is part of their step."
    if _near(answer, 24 / (24 / 4 + 1) / 4, 0.01):
        return "the start is not shared out: each replica makes all of it."
    if _near(answer, 5 / 12) or _near(answer, 5 / 3):
        return "the speed-up is the time alone, divided by the time together."
    return "first a step on four, then the speed-up, then its share of what four give at most."


efficiency = function(
    _judge_efficiency,
    "The price is 1 / 0.6 = 1.67 times as high: four machines for 10 milliseconds, not one for 24.",
    "add up what a step takes on four replicas; efficiency is the speed-up, divided by the number "
    "of replicas.",
)


def _judge_limit(answer: float) -> str:
    if _near(answer, BILLED / (BILLED - LOOP), 0.005):
        return ""
    if _near(answer, BILLED / (BILLED - LOOP / 2), 0.005):
        return "that is what two instances give; here there may be any number of them."
    if answer >= 2:
        return "only the loop is shared out; the other seconds stay as they are."
    return "how many seconds are left when the loop takes none at all?"


limit = Exercise(
    float,
    _judge_limit,
    "Any number of instances saves at most 4 per cent, and you pay for 130 seconds of each.",
    "suppose that so many instances share the loop that it takes no time at all.",
)


def _judge_hour(answer: float) -> str:
    if abs(answer - 2 * HOURLY / 4) < 0.006:  # also rounded to cents
        return ""
    if _near(answer, 2 * HOURLY, 0.01):
        return "so much more does the run cost; how many hours is it sooner?"
    if _near(answer, 12 * HOURLY / 4, 0.01) or _near(answer, 12 * HOURLY, 0.01):
        return "one instance would have cost money, too: take the difference."
    if _near(answer, HOURLY, 0.01):
        return "that is an hour of one instance."
    return "12 hours of instances instead of 10: what do they cost more, and for how many hours?"


hour = Exercise(
    float,
    _judge_hour,
    "You pay for twelve hours of instances instead of ten, and have the result four hours earlier.",
    "first the hours of all instances, with one and with two; then the price of the difference.",
    unit="dollars",
)


weak = some(
    {
        "B": "what is this kind of scaling called, where each replica keeps its rows?",
        "C": "how many rows has a step now, and how many steps an epoch?",
    },
    {
        "A": "with strong scaling the rows of a step stay the same, whoever works on them.",
        "D": "fewer steps move the weights less far: look at the three losses above.",
        "E": "that says nothing of how many epochs it takes; look at the three losses above.",
    },
    praise=(
        "Each replica keeps its 64 rows, so the batch is four times as large, an epoch has a "
        "quarter of the steps, and the model differs."
    ),
    advice="how many rows of the table does one step use now, and how often are the weights moved?",
)

cases = one_each(
    "CAB",
    "ABC",
    wrong=[
        "in the first, what could a second machine shorten, of those two minutes?",
        "in the second, one machine of twice the cores has the same price, and no network between.",
        "in the third, no single machine is larger, and the exchange takes a hundredth of a step.",
    ],
    praise=(
        "In the first case almost nothing can be divided. In the second, one machine with twice "
        "the cores is enough. In the third there is no larger machine, and the exchange is "
        "short."
    ),
    advice="for each: which of its seconds would become fewer, and what would become more?",
)
