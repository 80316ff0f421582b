"""Exercises with `check(answer)`, `hint()` and `solution()`; one module for each episode.

An answer counts by what it says, not by how it is written: '1/2' is 0.5, 'b, a' is 'AB'.

Neither ever blocks or raises: a notebook whose blanks are not filled in still runs to its end.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lesson import LessonError
from lesson.exercises.kinds import verdict
from lesson.show.progress import in_notebook

UNANSWERED = "Not answered yet: put your answer where None stands and run the cell again."
NUMBER = re.compile(
    r"(?P<number>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)(/(?P<below>\d+))?(?P<percent>%?)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    `expects` is the type of an answer (int for a whole number, float for any number, str; object
    for what is judged unchanged, a job or a function); `judge` takes the answer, and what else the
    cell hands to `check`, and returns what is wrong with it, or "" when it is right; `praise` says
    why the right answer is right. `unit`, in the plural, is what a number counts: it may stand
    behind the number. `kind` is how it is answered: "choose" or "order" by letters, "work out" a
    number or a word, "write" code, "send" a job.
    """

    expects: type
    judge: Callable[..., str]
    praise: str
    advice: str
    unit: str = ""
    kind: str = "work out"

    def check(self, answer: Any = None, *context: Any) -> None:
        """Show whether the answer is right, and if not, what to look at."""
        verdict.show(self._verdict(answer, *context))

    def hint(self) -> None:
        """Show a hint that does not give the answer away."""
        verdict.show(f"Hint: {self.advice}")

    def solution(self) -> None:
        """Show the page's solution: after a try of your own, it teaches more."""
        from lesson.exercises.kinds.solutions import solution_of

        show_markdown(solution_of(self))

    def _verdict(self, answer: Any, *context: Any) -> str:
        if answer is None or answer is ...:
            return UNANSWERED
        missing = len(inspect.signature(self.judge).parameters) - 1 - len(context)
        if missing:
            return "Not yet: call check() as the cell of the exercise does."
        typed = _as(self.expects, answer, self.unit)
        if typed is None:
            of = f"of {self.unit}" if self.unit else "alone"
            words = {int: f"a whole number {of}", float: f"a number {of}", str: "a text in quotes"}
            shown = repr(answer) if isinstance(answer, str | float) else type(answer).__name__
            return f"Not yet: the answer is {words[self.expects]}, not {shown[:40]}."
        try:
            wrong = self.judge(typed, *context)
        except LessonError as problem:
            return f"Not yet: {problem}"
        return f"Not yet: {wrong}" if wrong else f"Correct. {self.praise}"


def show_markdown(text: str) -> None:
    """Show Markdown in the notebook, or print it."""
    if not in_notebook():
        print(text)
        return
    from IPython.display import display

    bundle = {"text/markdown": text, "text/plain": text}
    display(bundle, raw=True)  # type: ignore[no-untyped-call]


def _as(expects: type, answer: Any, unit: str) -> Any:
    """Convert the answer to the expected type, also when it is numpy's.

    Return None when it is something else.
    """
    if expects is object:
        return answer
    if expects is str:
        return _text(answer)
    if isinstance(answer, str):
        number = _number(answer, unit)
    else:
        try:
            number = None if type(answer).__name__.startswith("bool") else float(answer)
        except (TypeError, ValueError, OverflowError, RuntimeError):  # the last of them is torch's
            number = None
    if expects is int and number is not None:
        return int(number) if number.is_integer() else None
    return number


def _text(answer: Any) -> str | None:
    """Read the answer as a text: also a path, or some letters in a list."""
    if isinstance(answer, os.PathLike):
        answer = os.fspath(answer)
    if isinstance(answer, set | frozenset):
        answer = sorted(answer, key=str)
    if isinstance(answer, list | tuple) and all(isinstance(part, str) for part in answer):
        answer = " ".join(answer)
    return answer.strip() if isinstance(answer, str) else None


def _number(text: str, unit: str) -> float | None:
    """Read the number of a text such as '0.5', '1/2', '50 %', '0,5', '1,000', '2 rows'.

    Return None for any other.
    """
    if unit:
        signs = r"|usd|\$" if unit == "dollars" else ""
        text = re.sub(rf"{unit[:-1]}s?\b{signs}", "", text, flags=re.IGNORECASE)
    text = re.sub(r"[\s_]", "", text)
    thousands = re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", text)
    match = NUMBER.fullmatch(text.replace(",", "" if thousands else "."))
    if match is None or not float(match["below"] or 1):
        return None
    return float(match["number"]) / float(match["below"] or 1) / (100 if match["percent"] else 1)
