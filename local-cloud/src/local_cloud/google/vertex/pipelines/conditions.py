"""The conditions of a pipeline's tasks: the part of CEL that the compiler of kfp writes.

`int(inputs.parameter_values['x']) > 3 && !(inputs.parameter_values['y'] == 'a')`. CEL is Google's
Common Expression Language; comparisons, `&&`, `||`, `!`, parentheses, literals, and the conversions
`int`, `double`, `string` and `bool` are here.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from local_cloud.errors import LocalCloudError

Values = Mapping[str, Any]
Term = Callable[[Values], Any]

TOKEN = re.compile(
    r"""\s*(?:(?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"""
    r"""|(?P<operator>&&|\|\||==|!=|<=|>=|<|>|!|\(|\))"""
    r"""|inputs\.parameter_values\[(?P<input>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")\]"""
    r"""|(?P<word>[A-Za-z_]\w*))"""
)
DEEPEST = 50  # parentheses and negations, each of which may lie inside the one before
CONSTANTS = {"true": True, "false": False, "null": None}
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class InvalidCondition(LocalCloudError):
    """A condition that cannot be read, or that means nothing for the values it is given."""


def compile_condition(text: str) -> Callable[[Values], bool]:
    """Return a function that says whether the condition holds for a task's input parameters."""
    whole = _Parser(text).whole()

    def holds(values: Values) -> bool:
        outcome = whole(values)
        if not isinstance(outcome, bool):
            raise InvalidCondition(f"the condition {text!r} is {outcome!r}, neither true nor false")
        return outcome

    return holds


class _Parser:
    """Recursive descent over the tokens: or, and, comparison, term."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = TOKEN.match(text, at)
            if not match:
                raise self.wrong(f"at {text[at:].strip()[:30]!r}")
            kind = str(match.lastgroup)
            self.tokens.append((kind, match[kind]))
            at = match.end()
        self.at = self.depth = 0

    def wrong(self, where: str) -> InvalidCondition:
        return InvalidCondition(
            f"the condition {self.text!r} cannot be read {where}: comparisons, &&, ||, !,"
            " parentheses, int(), double(), string() and bool() can"
        )

    def whole(self) -> Term:
        term = self.either()
        if self.at < len(self.tokens):
            raise self.wrong(f"at {self.tokens[self.at][1]!r}")
        return term

    def take(self, *wanted: str) -> str:
        """Return the next token if it is one of these operators; "" otherwise."""
        if self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            if kind == "operator" and text in wanted:
                self.at += 1
                return text
        return ""

    def either(self) -> Term:
        terms = [self.both()]
        while self.take("||"):
            terms.append(self.both())
        return (
            terms[0]
            if len(terms) == 1
            else lambda values: any(self.truth(term, values) for term in terms)
        )

    def both(self) -> Term:
        terms = [self.comparison()]
        while self.take("&&"):
            terms.append(self.comparison())
        return (
            terms[0]
            if len(terms) == 1
            else lambda values: all(self.truth(term, values) for term in terms)
        )

    def comparison(self) -> Term:
        left = self.term()
        sign = self.take("==", "!=", *ORDER)
        if not sign:
            return left
        right = self.term()
        return lambda values: self.compare(left(values), sign, right(values))

    def term(self) -> Term:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(f"with more than {DEEPEST} of its parts inside each other")
        try:
            return self.inner()
        finally:
            self.depth -= 1

    def inner(self) -> Term:
        if self.take("!"):
            term = self.term()
            return lambda values: not self.truth(term, values)
        if self.take("("):
            return self.close(self.either())
        if self.at == len(self.tokens):
            raise self.wrong("at its end")
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "input":
            name = self.literal(text)
            return lambda values: self.value(values, name)
        if kind in ("string", "number"):
            constant = self.literal(text)
            return lambda _: constant
        if kind == "word" and text in CONSTANTS:
            return lambda _: CONSTANTS[text]
        if kind == "word" and text in CONVERT and self.take("("):
            argument = self.close(self.either())
            return lambda values: self.convert(text, argument(values))
        raise self.wrong(f"at {text!r}")

    def close(self, term: Term) -> Term:
        if not self.take(")"):
            raise self.wrong("for a parenthesis that is not closed")
        return term

    def literal(self, text: str) -> Any:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise self.wrong(f"at {text!r}") from None

    # ---- values ---------------------------------------------------------------------------------
    def truth(self, term: Term, values: Values) -> bool:
        outcome = term(values)
        if not isinstance(outcome, bool):
            raise InvalidCondition(f"in {self.text!r}, {outcome!r} is neither true nor false")
        return outcome

    def value(self, values: Values, name: str) -> Any:
        if name not in values:
            raise InvalidCondition(f"in {self.text!r}, the task has no input {name!r}")
        return values[name]

    def compare(self, left: Any, sign: str, right: Any) -> bool:
        alike = _kind(left) == _kind(right)
        if sign in ("==", "!="):
            return (alike and left == right) == (sign == "==")
        if not alike or _kind(left) is dict:
            raise InvalidCondition(f"in {self.text!r}, {left!r} {sign} {right!r} means nothing")
        return bool(ORDER[sign](left, right))

    def convert(self, to: str, value: Any) -> Any:
        try:
            return CONVERT[to](value)
        except (ValueError, TypeError, OverflowError):
            raise InvalidCondition(f"in {self.text!r}, {to}({value!r}) means nothing") from None


def _kind(value: Any) -> type:
    """Return what can be compared with each other.

    Numbers of all kinds can, lists and objects not.
    """
    if isinstance(value, (bool, str)):
        return type(value)
    return float if isinstance(value, (int, float)) else dict


def _double(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _int(value: Any) -> int:
    return int(value) if isinstance(value, str) else math.trunc(_double(value))


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{_double(value):.15g}"


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.lower())
    if not isinstance(value, bool):
        raise TypeError
    return value


CONVERT: dict[str, Callable[[Any], Any]] = {
    "int": _int,
    "double": _double,
    "string": _string,
    "bool": _bool,
}
