"""The kinds of exercises that are answered by letters: one, some, in order, or one for each case.

What is said about a wrong answer belongs to its first mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lesson.exercises import Exercise

NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def letters(answer: str, among: str) -> str:
    """Read the letters of an answer such as 'A, C' or 'a and c'.

    Return an empty text if it has others than `among`.
    """
    read = re.sub(r"\band\b|[^a-z]", "", answer, flags=re.IGNORECASE).upper()
    return read if set(read) <= set(among) else ""


def choice(right: str, others: Mapping[str, str], *, praise: str, advice: str) -> Exercise:
    """Make an exercise of one letter; `others` says for each other letter what is wrong with it."""
    among = "".join(sorted({right, *others}))

    def judge(answer: str) -> str:
        letter = letters(answer, among)
        if letter == right:
            return ""
        return others.get(letter, f"choose one of {', '.join(among)}.")

    return Exercise(str, judge, praise, advice, kind="choose")


def some(
    right: Mapping[str, str], wrong: Mapping[str, str], *, praise: str, advice: str
) -> Exercise:
    """Make an exercise of all the letters of `right` and none of `wrong`, in any order.

    Each letter comes with what is said if it is missing, or if it should not be there.
    """
    among = "".join(sorted({*right, *wrong}))

    def judge(answer: str) -> str:
        given = letters(answer, among)
        if not given:
            return f"write letters from {among[0]} to {among[-1]}, as in 'AC'."
        told = [why for letter, why in wrong.items() if letter in given]
        told += [why for letter, why in right.items() if letter not in given]
        return next(iter(told), "")

    return Exercise(str, judge, praise, advice, kind="choose")


def in_order(
    rules: Sequence[tuple[str, str, str]], spare: Mapping[str, str], *, praise: str, advice: str
) -> Exercise:
    """Make a Parsons problem: lines out of order, and perhaps spare ones that do not belong.

    A rule names a line, another one that has to come later, and what is wrong if it does not; every
    needed line has one. `spare` says for each other line why it does not belong.
    """
    needed = sorted({line for first, later, _ in rules for line in (first, later)})
    among = "".join(sorted({*needed, *spare}))
    of_all = f"of the {NUMBERS[len(among)]} lines"
    count = f"each {of_all} is needed once."
    if spare:
        count = f"{NUMBERS[len(needed)]} {of_all} are needed, each once."

    def judge(answer: str) -> str:
        given = letters(answer, among)
        if not given:
            return f"write letters from {among[0]} to {among[-1]}, in order."
        told = [why for line, why in spare.items() if line in given]
        if not told and sorted(given) != needed:
            told = [count]
        if not told:
            place = given.index
            told = [why for first, later, why in rules if place(first) > place(later)]
        return next(iter(told), "")

    return Exercise(str, judge, praise, advice, kind="order")


def one_each(right: str, among: str, *, wrong: Sequence[str], praise: str, advice: str) -> Exercise:
    """Make an exercise of one letter for each case, in order.

    `wrong` says for each what to think of.
    """

    def judge(answer: str) -> str:
        given = letters(answer, among)
        if len(given) != len(right):
            return f"write {NUMBERS[len(right)]} letters out of {', '.join(among)}, in order."
        judged = zip(wrong, given, right, strict=True)
        return next((why for why, one, other in judged if one != other), "")

    return Exercise(str, judge, praise, advice, kind="choose")
