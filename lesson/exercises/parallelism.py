"""The exercises of episode 09, Which parallelism?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import call, function, number
from lesson.exercises.kinds.letters import in_order, one_each

ROWS, FIRST = 569, 100  # of the batch, and of the part of the first replica
WEIGHTS, WIDTH = 267_265, 512  # of a network of 7 features with hidden layers of 512 and 512
SHARED, WHOLE = 7 * WIDTH + WIDTH + WIDTH**2, WIDTH + WIDTH + 1  # of the weights; together all


def _judge_combined(combine: Callable[..., Any]) -> str:
    for rows in ((FIRST, ROWS - FIRST), (1, 3)):
        result = number(combine, 1.0, 5.0, *rows)
        right = (rows[0] + 5 * rows[1]) / sum(rows)
        if abs(result - right) < 1e-6:
            continue
        if abs(result - 3.0) < 1e-6:
            return "that is the mean of means, which the cell above has tried."
        if abs(result - (6 - right)) < 1e-6:
            return "each part counts as much as the other one has rows: turn it round."
        if abs(result - right * sum(rows)) < 1e-6:
            return "that is the sum over all rows; divide by their number."
        return f"of means of 1 and 5 over {rows[0]} and {rows[1]} rows it makes {result:g}."
    return ""


combined = function(
    _judge_combined,
    "Each part counts as much as it has rows, so every row counts the same.",
    "a mean is a sum divided by a number of rows; write all three means as such.",
)


def _judge_copies(held: int) -> str:
    if held == 4 * WEIGHTS:
        return ""
    return {
        2 * WEIGHTS: "the rows are halved. Which line of a step could do without half of the "
        "weights?",
        8 * WEIGHTS: "each replica holds one copy; two copies are those of both together.",
        WEIGHTS: "so many weights, yes; how many bytes has each?",
    }.get(held, "one replica alone held 1,069,060 bytes: half of them, as many, or twice as many?")


copies = Exercise(
    int,
    _judge_copies,
    "The replicas divide the rows, not the model: a second machine does not make room"
    " for a larger model.",
    "which of the weights does a replica need to compute the loss of its own rows?",
    unit="bytes",
)


order = in_order(
    [
        ("E", "D", "D uses the neurons, which E computes."),
        ("D", "A", "A uses `out`, which D computes."),
        ("D", "B", "B uses `out`, which D computes."),
        ("A", "B", "each replica would add b2, and the sum would have it once for each of them."),
    ],
    {"C": "these are different neurons on each replica: their sum means nothing."},
    praise="Two layers need one sum; each replica then adds the whole bias once.",
    advice="compare the lines with part() above, and look where b2 is added there.",
)


def _judge_quarter(size: Callable[..., Any]) -> str:
    answer = number(size, 4)
    if answer == 4 * (SHARED // 4 + WHOLE):
        two = number(size, 2)
        right = 4 * (SHARED // 2 + WHOLE)
        return "" if two == right else f"for two replicas it returns {two:g}, not {right}."
    if answer == SHARED // 4 + WHOLE:
        return "that is the number of weights; each takes four bytes."
    if answer in (WEIGHTS, 4 * WEIGHTS / 4):
        return "that is a quarter of all, but some of it is not split."
    if answer == 4 * (SHARED // 2 + WHOLE):
        return "so much has each of two replicas; now there are four."
    return "add the share of what is split to what is whole, and take four bytes for each weight."


quarter = function(
    _judge_quarter,
    "Only a small part stays whole here; the wider the layers, the smaller it is.",
    "count the weights that are split, and those that are not, and try your sum on two replicas: "
    "they have 536,580 bytes each.",
)


def _judge_crossing(answer: int) -> str:
    if answer == WEIGHTS // WIDTH:
        return ""
    if answer == WEIGHTS // WIDTH + 1:
        return "with one row more it sends more already: 523 × 512 is 267,776."
    if answer == ROWS:
        return "with all 569 rows it sends more, as the cell above says."
    if answer in (4 * WEIGHTS // WIDTH, WEIGHTS // WIDTH // 4):
        return "both sides count numbers of four bytes, so the four has no part in it."
    return "at how many rows are there as many values as weights?"


crossing = Exercise(
    int,
    _judge_crossing,
    "Model parallelism sends less with few rows and many weights, data parallelism "
    "with many rows and few weights.",
    "512 numbers for each row on one side, one number for each weight on the other.",
    unit="rows",
)


def _record(rows: int, parts: int, layers: int) -> list[dict[str, Any]]:
    """Return the record of a job that divided so many rows in parts, and its layers."""
    cuts = [rows * part // parts for part in range(parts + 1)] if parts else []
    shares = [*pairwise(cuts)] or [(0, rows)] * max(layers, 1)
    held = 400_000 // layers + 1_600 if layers else 400_000
    return [
        {
            "rank": rank,
            "rows": {"start": start, "stop": stop},
            "bytes": {"parameters": held, "optimiser": 2 * held},
        }
        for rank, (start, stop) in enumerate(shares)
    ]


def _judge_records(way: Callable[..., Any]) -> str:
    cases = (
        (_record(800, 2, 0), "data", "each replica has rows of its own, and the whole network"),
        (_record(800, 0, 2), "model", "each replica has all the rows, and half of the bytes"),
        (_record(801, 3, 0), "data", "three replicas have a third of the rows each"),
        (_record(800, 0, 4), "model", "four replicas have all the rows"),
        (_record(800, 0, 0), "alone", "one replica has all the rows and the whole network"),
    )
    for replicas, right, why in cases:
        answered = call(way, replicas)
        if answered != right:
            return f"{why}: that is {right!r}, and your function returns {answered!r}."
    return ""


records = function(
    _judge_records,
    "If each replica has its own rows, the job divided the rows; if all have all "
    "rows, it divided the layers.",
    "with several replicas, compare replicas[0]['rows'] with replicas[1]['rows'].",
)

choices = one_each(
    "CADB",
    "ABCD",
    wrong=[
        "1: no card holds the model and its Adam, but each holds a layer: what does C keep?",
        "2: what is done in seconds needs no second machine.",
        "3: no card computes with a layer that does not fit on it, as B and C do.",
        "4: the model fits on one card, and there are too many rows for one.",
    ],
    praise="Case 1 fits in shards, case 2 needs no second machine, in case 3 not even a layer "
    "fits, and in case 4 only the rows are too many.",
    advice="sixteen bytes for each weight: does the model fit on a card? Does a layer? Does it "
    "take long?",
)
