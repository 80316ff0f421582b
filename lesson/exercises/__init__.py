"""Exercises with `check(answer)` and `hint()`; one module per episode holds its exercises.

Neither ever blocks or raises: a notebook whose blanks are not filled in still runs to its end.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lesson import LessonError

UNANSWERED = "Not answered yet: put your answer where None stands and run the cell again."


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    `expects` is the type of an answer (int for a whole number, float for any number, str);
    `judge` takes the answer, and what else the cell hands to `check`, and returns what is wrong
    with it, or "" when it is right; `praise` says why the right answer is right.
    """

    expects: type
    judge: Callable[..., str]
    praise: str
    advice: str

    def check(self, answer: Any = None, *context: Any) -> None:
        """Print whether the answer is right, and if not, what to look at."""
        print(self._verdict(answer, *context))

    def hint(self) -> None:
        """Print a hint that does not give the answer away."""
        print(f"Hint: {self.advice}")

    def _verdict(self, answer: Any, *context: Any) -> str:
        if answer is None or answer is ...:
            return UNANSWERED
        missing = len(inspect.signature(self.judge).parameters) - 1 - len(context)
        if missing:
            return "Not yet: call check() as the cell of the exercise does."
        typed = _as(self.expects, answer)
        if typed is None:
            words = {int: "a whole number", float: "a number", str: "a text in quotes"}
            shown = repr(answer) if isinstance(answer, (str, int, float)) else type(answer).__name__
            return f"Not yet: the answer is {words[self.expects]}, not {shown[:40]}."
        try:
            wrong = self.judge(typed, *context)
        except LessonError as problem:
            return f"Not yet: {problem}"
        return f"Not yet: {wrong}" if wrong else f"Right. {self.praise}"


def choice(right: str, others: Mapping[str, str], praise: str, advice: str) -> Exercise:
    """An exercise whose answer is a letter; `others` says for each other letter what is wrong."""

    def judge(answer: str) -> str:
        letter = answer.strip(" .()").upper()
        if letter == right:
            return ""
        return others.get(letter, f"choose one of {', '.join(sorted({right, *others}))}.")

    return Exercise(str, judge, praise, advice)


def letters(answer: str, last: str) -> str:
    """The letters of an answer, as in 'A, C'; empty if there are others than A to `last`."""
    found = re.sub(r"[\s,;.]|and", "", answer).upper()
    return found if found and all("A" <= each <= last for each in found) else ""


def _as(expects: type, answer: Any) -> Any:
    """The answer as the expected type, also when it is numpy's; None when it is something else."""
    if expects is str:
        return answer if isinstance(answer, str) else None
    if isinstance(answer, (str, bool)):
        return None
    try:
        number = float(answer)
    except (TypeError, ValueError, OverflowError):
        return None
    if expects is int:
        return int(number) if number.is_integer() else None
    return number
