"""The filter and order of Google's list requests, in the language of AIP-160 and AIP-132.

`display_name="trial 1" AND (state=JOB_STATE_SUCCEEDED OR NOT labels.kind:*)`. Field names are
accepted in snake_case and camelCase. As AIP-160 says, OR binds more tightly than AND. A field of
metadata is asked for with its type, `metadata."learning rate".number_value > 0.1`, and a list may
be asked for several things that it must have, `parent_contexts:"a","b"`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from local_cloud.errors import LocalCloudError
from local_cloud.store.wildcards import matches


class InvalidFilter(LocalCloudError):
    """A filter or an order that cannot be read: INVALID_ARGUMENT."""


Test = Callable[[dict[str, Any]], bool]
Bounds = dict[str, tuple[str, str]]  # of a field, the least and the greatest value; "": any
# What a filter may call, `in_context("...")`: whether a resource passes with this argument.
Functions = dict[str, Callable[[dict[str, Any], str], bool]]

TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<op><=|>=|!=|=|<|>|:)"""
    r"""|(?P<bracket>[()])|(?P<word>\d{4}-\d\d-\d\dT[^\s"'()]+|[^\s"'()<>=!:]+))"""
)
LONGEST = 20_000  # characters: "Length of a Logging query", cloud.google.com/logging/quotas
DEEPEST = 50  # brackets and NOTs in a filter, each of which may lie inside the one before
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The last step of a path into metadata: how google.protobuf.Value names the kinds of a value.
TYPED = {"number_value": int | float, "string_value": str, "bool_value": bool}


def compile_filter(text: str, functions: Functions | None = None) -> Test:
    """Return a test of whether a resource, in its JSON form, passes; or InvalidFilter."""
    return _Parser(text, functions or {}).whole() if text.strip() else lambda _: True


def bounds(text: str) -> Bounds:
    """Return the least and the greatest text that a filter allows in each field that it restricts.

    So a search need not look at what cannot pass. InvalidFilter as for compile_filter.
    """
    if not text.strip():
        return {}
    parser = _Parser(text, {})
    parser.whole()
    return parser.bounds


class _Parser:
    """Recursive descent over the tokens: expression, factor, term, restriction."""

    def __init__(self, text: str, functions: Functions) -> None:
        self.text = text
        self.functions = functions
        self.bounds: Bounds = {}  # of what was parsed last
        self.tokens: list[tuple[str, str]] = []
        if len(text) > LONGEST:
            raise self.wrong(f"as a whole: it is longer than {LONGEST} characters")
        at, end = 0, len(text.rstrip())
        while at < end:
            match = TOKEN.match(text, at)
            if not match or match.end() == at:
                raise self.wrong(f"at {text[at:].strip()[:20]!r}")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        if sum(value in ("(", "NOT") for _, value in self.tokens) > DEEPEST:
            raise self.wrong(f"with more than {DEEPEST} brackets and NOTs")

    def wrong(self, where: str) -> InvalidFilter:
        said = repr(self.text[:200])
        return InvalidFilter(f"Invalid filter {said}: cannot be read {where}")

    def next_is(self, *values: str) -> bool:
        return bool(self.tokens) and self.tokens[0][1] in values and self.tokens[0][0] != "string"

    def next_is_string(self) -> bool:
        return bool(self.tokens) and self.tokens[0][0] == "string"

    def take(self, *kinds: str) -> str:
        if not self.tokens:
            raise self.wrong("at its end")
        kind, value = self.tokens.pop(0)
        if kind not in kinds:
            raise self.wrong(f"at {value!r}")
        return re.sub(r"\\(.)", r"\1", value[1:-1]) if kind == "string" else value

    def whole(self) -> Test:
        test = self.expression()
        if self.tokens:
            raise self.wrong(f"at {self.tokens[0][1]!r}")
        return test

    def expression(self) -> Test:
        tests, limits = [self.factor()], self.bounds
        while self.tokens and not self.next_is(")"):
            if self.next_is("AND"):
                self.tokens.pop(0)
            tests.append(self.factor())
            limits = _both(limits, self.bounds)
        self.bounds = limits
        return lambda resource: all(test(resource) for test in tests)

    def factor(self) -> Test:
        tests, limits = [self.term()], self.bounds
        while self.next_is("OR"):
            self.tokens.pop(0)
            tests.append(self.term())
            limits = _either(limits, self.bounds)
        self.bounds = limits
        return lambda resource: any(test(resource) for test in tests)

    def term(self) -> Test:
        if self.next_is("NOT"):
            self.tokens.pop(0)
            negated = self.term()
            self.bounds = {}
            return lambda resource: not negated(resource)
        if self.next_is("("):
            self.tokens.pop(0)
            inner = self.expression()
            if not self.next_is(")"):
                raise self.wrong("at its end")
            self.tokens.pop(0)
            return inner
        return self.restriction()

    def restriction(self) -> Test:
        self.bounds = {}
        if len(self.tokens) > 1 and self.tokens[0][1] in self.functions:
            return self.call(self.functions[self.take("word")])
        path, op = self.path(), self.take("op")
        wanted = [self.take("word", "string")]
        while op == ":" and self.next_is(","):
            self.tokens.pop(0)
            wanted.append(self.take("word", "string"))
        tests = [_comparison(path, op, one) for one in wanted]
        self.bounds = _bounds(".".join(path), op, wanted[0])
        return lambda resource: all(test(resource) for test in tests)

    def path(self) -> list[str]:
        """`metadata."learning rate".number_value`: a step in quotes may hold any character."""
        first = self.next_is_string()
        text = self.take("word", "string")
        path = [text] if first else text.split(".")
        while path[-1] == "" and self.next_is_string():
            path[-1] = self.take("string")
            if self.tokens and self.tokens[0][0] == "word" and self.tokens[0][1][:1] == ".":
                path += self.take("word")[1:].split(".")
        return path

    def call(self, function: Callable[[dict[str, Any], str], bool]) -> Test:
        for bracket in "()":
            if not self.next_is(bracket):
                raise self.wrong("at a function's brackets")
            self.tokens.pop(0)
            if bracket == "(":
                argument = self.take("word", "string")
        return lambda resource: function(resource, argument)


def _bounds(field: str, op: str, wanted: str) -> Bounds:
    """Return what one comparison allows."""
    if op == "=" and "*" not in wanted:
        return {field: (wanted, wanted)}
    if op in (">", ">="):
        return {field: (wanted, "")}
    if op in ("<", "<="):
        return {field: ("", wanted)}
    return {}


def _both(one: Bounds, other: Bounds) -> Bounds:
    """Return what is left when both hold."""
    bounds = one | other
    for field in one.keys() & other.keys():
        (low, high), (low_too, high_too) = one[field], other[field]
        bounds[field] = max(low, low_too), min(high or high_too, high_too or high)
    return bounds


def _either(one: Bounds, other: Bounds) -> Bounds:
    """Return what is allowed when one of them holds."""
    bounds = {}
    for field in one.keys() & other.keys():
        (low, high), (low_too, high_too) = one[field], other[field]
        bounds[field] = min(low, low_too), max(high, high_too) if high and high_too else ""
    return bounds


def _comparison(path: list[str], op: str, wanted: str) -> Test:
    def test(resource: dict[str, Any]) -> bool:
        value = lookup(resource, path)
        if op == ":":
            if isinstance(value, dict | list):
                return bool(value) if wanted == "*" else wanted in value
            return value is not None and (wanted == "*" or wanted in _text(value))
        number = _number(wanted) if type(value) in (int, float) else None
        if op in ("=", "!="):
            if number is not None:
                return bool((value == number) == (op == "="))
            return matches(_text(value), wanted) == (op == "=")
        if number is not None:
            return bool(COMPARE[op](value, number))
        return value is not None and bool(COMPARE[op](_text(value), wanted))

    return test


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def lookup(resource: dict[str, Any], path: list[str]) -> Any:
    """Return the value at a path of field names, or None."""
    value: Any = resource
    for place, name in enumerate(path):
        if place == len(path) - 1 and name in TYPED and not isinstance(value, dict):
            return value if _is(value, TYPED[name]) else None
        if not isinstance(value, dict):
            return None
        value = value.get(name, value.get(camel(name)))
    return value


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return bool(isinstance(value, kind))


def camel(name: str) -> str:
    """Return a proto's field name as its JSON form has it."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def order(resources: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """Sort by `field, other_field desc`; without a field, the newest first."""
    resources = sorted(resources, key=lambda item: item.get("createTime", ""), reverse=True)
    for part in reversed([item.split() for item in by.split(",") if item.strip()]):
        field, direction = part[0].split("."), part[1:]
        if direction not in ([], ["asc"], ["desc"]):
            raise InvalidFilter(f"Invalid orderBy {by!r}")
        resources.sort(
            key=lambda item, field=field: _text(lookup(item, field)),  # type: ignore[misc]
            reverse=direction == ["desc"],
        )
    return resources
