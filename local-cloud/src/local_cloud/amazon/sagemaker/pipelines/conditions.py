"""Conditions of a pipeline's condition steps: all of a step's must hold."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from local_cloud.amazon.sagemaker.pipelines.values import Scope, ValueProblem, resolve
from local_cloud.json_types import Json

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "Equals": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqualTo": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqualTo": operator.le,
}


def check(conditions: Any) -> None:
    """Raise ValueProblem for what is no list of conditions."""
    if not isinstance(conditions, list) or not all(isinstance(each, dict) for each in conditions):
        raise ValueProblem("Conditions must be a list of objects")
    for each in conditions:
        kind = each.get("Type")
        if kind == "Not":
            check([each.get("Condition")])
        elif kind == "Or":
            check(each.get("Conditions"))
        elif kind == "In":
            if not isinstance(each.get("Values"), list):
                raise ValueProblem("In takes a list of Values")
        elif not isinstance(kind, str) or kind not in COMPARISONS:
            raise ValueProblem(f"{kind!r} is not a type of condition")


def hold(conditions: list[Json], scope: Scope) -> bool:
    """Return whether all the conditions hold; ValueProblem for what cannot be compared."""
    return all([_holds(each, scope) for each in conditions])


def _holds(condition: Json, scope: Scope) -> bool:
    kind = condition["Type"]
    if kind == "Not":
        return not _holds(condition["Condition"], scope)
    if kind == "Or":
        return any([_holds(each, scope) for each in condition["Conditions"]])
    if kind == "In":
        value = resolve(condition.get("QueryValue"), scope)
        return any([_same(value, other) for other in resolve(condition["Values"], scope)])
    left = resolve(condition.get("LeftValue"), scope)
    right = resolve(condition.get("RightValue"), scope)
    if kind == "Equals":
        return _same(left, right)
    if not (_is_number(left) and _is_number(right)) and not (
        isinstance(left, str) and isinstance(right, str)
    ):
        raise ValueProblem(f"{kind}: {left!r} and {right!r} cannot be compared")
    return COMPARISONS[kind](left, right)


def _same(left: Any, right: Any) -> bool:
    """Return whether both are equal, and both numbers or both of the same type: True is not 1."""
    alike = (_is_number(left) and _is_number(right)) or type(left) is type(right)
    return alike and bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
