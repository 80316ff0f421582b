"""Exercises that are answered by a function: it is called, and what it returns is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lesson import LessonError
from lesson.exercises import Exercise


def function(judge: Callable[..., str], praise: str, advice: str) -> Exercise:
    """Make an exercise of a function that the learner writes; `judge` calls it through `call`."""

    def look(answer: Any) -> str:
        if not callable(answer) or isinstance(answer, type):
            return "the answer is a function: give its name, without quotes or parentheses."
        return judge(answer)

    return Exercise(object, look, praise, advice, kind="write")


def call(written: Callable[..., Any], *arguments: Any) -> Any:
    """Call a learner's function; what goes wrong in it becomes a sentence."""
    try:
        result = written(*arguments)
    except Exception as problem:  # noqa: BLE001 - the learner's own code raises anything
        said = f"{type(problem).__name__}: {problem}".rstrip(": ")
        raise LessonError(f"your function raises {said}") from None
    if result is None or result is ...:
        raise LessonError("your function returns nothing yet")
    return result


def number(written: Callable[..., Any], *arguments: Any) -> float:
    """Call a learner's function that has to return a number, or a tensor of one."""
    result = call(written, *arguments)
    detached = result.detach() if hasattr(result, "detach") else result  # of torch
    try:
        return float(detached)
    except (TypeError, ValueError, RuntimeError):  # the last of them is torch's
        shown = type(result).__name__
        raise LessonError(f"your function returns a {shown}, not a number") from None
