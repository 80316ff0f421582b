"""The exercises of episode 21, Baselines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from lesson.baselines import Z
from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import call, function, number
from lesson.exercises.kinds.letters import choice


def _judge_majority(majority: Callable[..., Any]) -> str:
    import pandas as pd

    train, test = pd.Series([1, 1, 0]), pd.Series([0, 0, 1, 0])
    value = number(majority, train, test)
    if value in (0, 1):
        return "that is a label; how often is it right on the test rows?"
    if math.isclose(value, 2 / 3):
        return "that is its share of the training rows; the score is that of the test rows."
    if math.isclose(value, 0.75):
        return "it has to answer with the most frequent label of the training rows."
    if not math.isclose(value, 0.25):
        return f"for the labels 1, 1, 0 and the test rows 0, 0, 1, 0 it returns {value:g}."
    return ""


majority = function(
    _judge_majority,
    "A useful model has to beat this one, which uses no feature.",
    "train_labels.mode()[0] is the most frequent label; the mean of a comparison is a share.",
)

gaps = choice(
    "B",
    {
        "A": "by chance the share of gaps would be about the same in both groups.",
        "C": "the new column says only that an age is missing; no age is changed.",
    },
    praise="The gaps of a table show how it was recorded, and a model learns that.",
    advice="compare the shares of the two groups: what does a gap tell a model?",
)


CANDIDATES = 6


def _judge_sent(record: Any) -> str:
    if not isinstance(record, Mapping) or "AutoMLJobStatus" not in record:
        return "the answer is what describe_auto_ml_job_v2 returns."
    status = record["AutoMLJobStatus"]
    if status == "Failed":
        return f"it has failed. {record.get('FailureReason', '')}"[:400]
    if status != "Completed":
        return f"it is {status}: wait for its end, and ask again."
    objective = (record.get("AutoMLJobObjective") or {}).get("MetricName")
    if objective is None:
        return "it chose its objective itself: name a ProblemType and an AutoMLJobObjective."
    if objective != "Accuracy":
        return f"its objective is {objective}; the table compares accuracies."
    tabular = record["AutoMLProblemTypeConfig"]["TabularJobConfig"]
    if (most := tabular.get("CompletionCriteria", {}).get("MaxCandidates")) != CANDIDATES:
        return f"it may try {most or 'any number of'} candidates; ask for {CANDIDATES}."
    return ""


sent = Exercise(
    object,
    _judge_sent,
    "The job compares its candidates by accuracy. Without an objective, Autopilot uses F1 for "
    "two classes, and may choose another model.",
    "autopilot() passes all further arguments to the request; AutoMLJobObjective is a dictionary "
    "with a MetricName.",
    kind="send",
)

ONE, OTHER, TRUTH = [1, 0, 0, 1, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 1]


def _judge_only_one(only_one: Callable[..., Any]) -> str:
    import numpy as np

    answered = call(only_one, *(np.array(each) for each in (ONE, OTHER, TRUTH)))
    try:
        first, second = (int(each) for each in answered)
    except (TypeError, ValueError):
        return "return two numbers: one for the first model, and one for the other."
    if (first, second) == (1, 2):
        return "the two numbers are right, but in the other order."
    if (first, second) == (3, 2):
        return "those are the rows on which each is right; leave out those on which both are."
    if (first, second) != (2, 1):
        return f"for the example in the hint it returns {first} and {second}, not 2 and 1."
    return ""


only_one = function(
    _judge_only_one,
    "Rows on which both are right, or both wrong, say nothing about which is better.",
    "with numpy, (one == truth) & (other != truth) marks rows; for one = 1, 0, 0, 1, 0, other = "
    "1, 1, 1, 1, 1 and truth = 1, 0, 0, 0, 1 the answer is 2, 1.",
)


def _judge_enough(enough: Callable[..., Any]) -> str:
    for accuracy, half in ((0.8, 0.06), (0.9, 0.01)):
        value, right = number(enough, accuracy, half), accuracy * (1 - accuracy) * (Z / half) ** 2
        if math.isclose(value, right, rel_tol=0.06) or abs(value - right) <= 1:
            continue
        if math.isclose(value, 4 * right, rel_tol=0.06):
            return "the interval extends by half to both sides; you took half as its whole width."
        if math.isclose(value, right / Z**2, rel_tol=0.06):
            return "that is one standard deviation; an interval of 95 % has 1.96 of them."
        if math.isclose(value**2, right, rel_tol=0.06):
            return "take the square: four times the rows halve the interval."
        return f"for an accuracy of {accuracy} and ± {half} it is {right:.0f}, not {value:g}."
    return ""


enough = function(
    _judge_enough,
    "An interval half as wide needs four times the rows.",
    "half = 1.96 × √(accuracy × (1 − accuracy) / rows): solve it for rows.",
)

stop = choice(
    "B",
    {
        "A": "then the test rows choose the model, and its score does not hold for new rows.",
        "C": "more trials choose among models that these rows cannot tell apart.",
        "D": "0.82 may be higher by chance: how sure is the difference on 179 rows?",
    },
    praise="179 rows cannot tell these three models apart, so the simplest will do, and more rows "
    "help more than more trials.",
    advice="can 179 rows tell these models apart? If not, what could?",
)
