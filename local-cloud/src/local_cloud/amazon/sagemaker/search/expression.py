"""Search expressions: which documents satisfy filters on their properties.

Source: Filter, NestedFilters and SearchExpression in the API reference (read 2026).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from local_cloud.amazon.sagemaker.resources.request import invalid
from local_cloud.json_types import Json

MOST = 50  # filters and expressions in one
ORDERS: dict[str, Callable[[Any, float], bool]] = {
    "GreaterThan": lambda own, wanted: own > wanted,
    "GreaterThanOrEqualTo": lambda own, wanted: own >= wanted,
    "LessThan": lambda own, wanted: own < wanted,
    "LessThanOrEqualTo": lambda own, wanted: own <= wanted,
}
HYPERPARAMETERS = "hyperparameters."  # texts, which are compared as numbers


def matches(document: Json, expression: Json) -> bool:
    """Return whether a document satisfies an expression."""
    outcomes = [
        *(_fits(document, each) for each in expression.get("Filters", [])),
        *(_fits_nested(document, each) for each in expression.get("NestedFilters", [])),
        *(matches(document, each) for each in expression.get("SubExpressions", [])),
    ]
    return any(outcomes) if expression.get("Operator") == "Or" else all(outcomes)


def names(expression: Json) -> Iterator[str]:
    """Yield the properties that an expression names."""
    nested = expression.get("NestedFilters", [])
    for filters in (expression.get("Filters", []), *(each["Filters"] for each in nested)):
        yield from (each["Name"] for each in filters)
    for each in expression.get("SubExpressions", []):
        yield from names(each)


def values(value: Any, path: str) -> Iterator[Any]:
    """Yield what a document has at a path such as `Parents.TrialName`; case does not matter.

    A name may itself have dots in it, as those of parameters do; of a list, each item counts.
    """
    if isinstance(value, list):
        for item in value:
            yield from values(item, path)
    elif not path:
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if path.lower() == name.lower():
                yield from values(inner, "")
            elif path.lower().startswith(f"{name.lower()}."):
                yield from values(inner, path[len(name) + 1 :])


def scalar(value: Any) -> Any:
    """Return what a parameter, a metric or an artifact is compared by: its one value."""
    if isinstance(value, dict):
        known = ("Value", "Last", "NumberValue", "StringValue")
        return next((value[name] for name in known if name in value), None)
    return value


def _fits(document: Json, wanted: Json) -> bool:
    return _satisfies(wanted, wanted["Name"], list(values(document, wanted["Name"])))


def _fits_nested(document: Json, nested: Json) -> bool:
    """Return whether one item of the list satisfies all filters."""
    prefix = f"{nested['NestedPropertyName']}."
    for item in values(document, nested["NestedPropertyName"]):
        paths = [(each, each["Name"].removeprefix(prefix)) for each in nested["Filters"]]
        if all(_satisfies(each, each["Name"], list(values(item, path))) for each, path in paths):
            return True
    return False


def _satisfies(wanted: Json, name: str, values: list[Any]) -> bool:
    operator, text = wanted.get("Operator", "Equals"), wanted.get("Value", "")
    if operator in ("Exists", "NotExists"):
        return bool(values) is (operator == "Exists")
    own = [one for one in map(scalar, values) if one is not None]
    if operator == "NotEquals":
        return not any(_equals(one, text, name) for one in own)
    if operator == "Equals":
        return any(_equals(one, text, name) for one in own)
    if operator == "In":
        return any(str(one) in text.split(",") for one in own)
    if operator == "Contains":
        return any(text in str(one) for one in own)
    return any(_is_in_order(one, text, name, operator=operator) for one in own)


def _equals(own: Any, text: str, name: str) -> bool:
    if isinstance(own, bool):
        return bool(str(own).lower() == text.lower())
    if isinstance(own, int | float):
        return bool(own == _number(text, name))
    return bool(own == text)


def _is_in_order(own: Any, text: str, name: str, *, operator: str) -> bool:
    wanted = _number(text, name)
    if isinstance(own, str):
        if not name.lower().startswith(HYPERPARAMETERS):
            raise invalid(f"{name}: {operator} is not supported for text properties")
        try:
            own = float(own)
        except ValueError:
            return False
        own = float(math.trunc(own)) if "." not in text and math.isfinite(own) else own
    return bool(ORDERS[operator](own, wanted))


def _number(text: str, name: str) -> float:
    """Read a number, or the seconds since the epoch of a time such as 2026-07-01T12:00:00."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise invalid(f"{name}: {text!r} is neither a number nor a time in ISO 8601") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
