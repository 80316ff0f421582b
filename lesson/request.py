"""What a verb sends: calls of an SDK with their arguments, to be read before they are made."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any

WIDTH = 100  # characters; a longer value is written over several lines


class Request(Mapping[str, Mapping[str, Any]]):
    """Calls of an SDK that have not been made; printed, they are the Python that makes them.

    `request["submit"]["machine_type"]` is an argument of the call named submit. send() makes the
    calls: until then nothing has left this process.
    """

    def __init__(self, *calls: partial[Any] | None, then: Request | None = None) -> None:
        """Take a call that makes an object, and then calls of that object's methods, in order.

        An argument may be a call too, which is made before the one that it belongs to. A None in
        place of a call is left out. `then` is a request that is sent after this one.
        """
        self._calls, self._then = tuple(filter(None, calls)), then
        own = {_name(call): call.keywords for call in _with_inner(self._calls)}
        self._named: Mapping[str, Mapping[str, Any]] = {**own, **(then or {})}

    def make(self) -> Any:
        """Make the first call, and the calls among its arguments; return the SDK's object."""
        return _made(self._calls[0])

    def send(self, made: Any = None) -> Any:
        """Make all calls, on the object of make() if it is given; return the SDK's last object."""
        made = self.make() if made is None else made
        for method in self._calls[1:]:
            self.call(_name(method), made)
        return self._then.send() if self._then else made

    def call(self, name: str, made: Any) -> Any:
        """Make the call of this name on the object of make(); return what it returns."""
        (method,) = [each for each in self._calls[1:] if _name(each) == name]
        return method.func(made, **{key: _made(value) for key, value in method.keywords.items()})

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        """Return the arguments of a call by its name."""
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the calls, inner ones first."""
        return iter(self._named)

    def __len__(self) -> int:
        """Count the calls."""
        return len(self._named)

    def __repr__(self) -> str:
        """Write the calls as Python."""
        if not self._calls:
            return "Request()"
        first, *methods = self._calls
        chained = (f".{method.func.__name__}{_arguments(method, '')}" for method in methods)
        written = "".join([_written(first, ""), *chained])
        return f"{written}\n{self._then!r}" if self._then else written


def _made(value: Any) -> Any:
    """Return an argument's value: of a call its result, of a model a copy.

    A copy, because the SageMaker SDK fills in defaults where it finds none: the request is to stay
    what it was before it was sent.
    """
    if isinstance(value, partial):
        return value.func(**{name: _made(inner) for name, inner in value.keywords.items()})
    if isinstance(value, list):
        return [_made(each) for each in value]
    return value.model_copy(deep=True) if hasattr(value, "model_copy") else value


def _with_inner(calls: tuple[partial[Any], ...]) -> Iterator[partial[Any]]:
    """Yield the calls among the arguments, and then the calls."""
    for call in calls:
        inner = (value for value in call.keywords.values() if isinstance(value, partial))
        yield from _with_inner(tuple(inner))
        yield call


def _name(call: partial[Any]) -> str:
    """Return a call's name; of a class method with its class: CustomJob.from_local_script."""
    made_by_class = inspect.isclass(getattr(call.func, "__self__", None))
    return _full_name(call) if made_by_class else str(call.func.__name__)


def _full_name(call: partial[Any]) -> str:
    """Return a call's name with its class; a client of botocore has methods of no class's name."""
    owner = getattr(call.func, "__self__", None)
    if owner is None or inspect.isclass(owner):
        return str(call.func.__qualname__)
    return f"{type(owner).__name__}.{call.func.__name__}"


# ---- as Python ----------------------------------------------------------------------------------
def _written(value: Any, margin: str, before: str = "") -> str:
    """Write a value as Python, a long one over several lines; these begin with the margin.

    `before` is what stands before it in its first line.
    """
    if isinstance(value, partial):
        return f"{_full_name(value)}{_arguments(value, margin)}"
    line = _in_a_line(value)
    if len(margin + before + line) < WIDTH:
        return line
    inner = margin + "    "
    if isinstance(value, list):
        return _block("[", [_written(each, inner) for each in value], "]", margin)
    if isinstance(value, dict):
        rows = [_row(f"{key!r}: ", each, inner) for key, each in value.items()]
        return _block("{", rows, "}", margin)
    if fields := _fields(value):
        rows = [_row(f"{name}=", each, inner) for name, each in fields.items()]
        return _block(f"{type(value).__name__}(", rows, ")", margin)
    return line


def _arguments(call: partial[Any], margin: str) -> str:
    inner = margin + "    "
    rows = [_row(f"{name}=", value, inner) for name, value in call.keywords.items()]
    return _block("(", rows, ")", margin)


def _row(before: str, value: Any, margin: str) -> str:
    return before + _written(value, margin, before)


def _block(opening: str, rows: list[str], closing: str, margin: str) -> str:
    lines = "".join(f"{margin}    {row},\n" for row in rows)
    return f"{opening}\n{lines}{margin}{closing}"


def _in_a_line(value: Any) -> str:
    """Write a value in one line; of an SDK's object, the fields that somebody has set."""
    if isinstance(value, list):
        return f"[{', '.join(map(_in_a_line, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_in_a_line(each)}' for key, each in value.items())}}}"
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if (fields := _fields(value)) is None:
        return repr(value)
    words = ", ".join(f"{name}={_in_a_line(each)}" for name, each in fields.items())
    return f"{type(value).__name__}({words})"


def _fields(value: Any) -> dict[str, Any] | None:
    """Return an SDK object's fields that are set; None for what is best written by its repr."""
    kind = type(value)
    if hasattr(kind, "model_fields"):  # pydantic's models, with which SageMaker's SDK is written
        found = ((name, getattr(value, name), field) for name, field in kind.model_fields.items())
        return {name: each for name, each, field in found if each not in (None, field.default)}
    if hasattr(kind, "to_dict") and hasattr(kind, "pb"):  # messages, with which Google's is
        plain: dict[str, Any] = kind.to_dict(
            value, always_print_fields_with_no_presence=False, use_integers_for_enums=False
        )
        return plain
    if any("__repr__" in vars(each) for each in kind.__mro__[:-1]):
        return None
    given = {name: getattr(value, name, ...) for name in inspect.signature(kind).parameters}
    plain_values = all(isinstance(each, str | int | float | list | None) for each in given.values())
    return given if plain_values else {}
