"""What a verb sends: the SDK's calls with their arguments, to be read before they are made."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

WIDTH = 100  # characters; a longer value is written over several lines


class Result(NamedTuple):
    """Stands in a call's arguments for what another call of the same request returns."""

    call: str  # the name of that call


class Request(dict[str, dict[str, Any]]):
    """Calls of an SDK by their names, each with its arguments; prints itself as the Python.

    `request["submit"]["machine_type"]` is an argument of the call named submit. A name that begins
    with a capital letter makes an object (`CustomTrainingJob`); any other is a method of the object
    before it, or of one of the `clients`.
    """

    def __init__(
        self,
        calls: Mapping[str, dict[str, Any]] | None = None,
        clients: Mapping[str, str] | None = None,
    ) -> None:
        """Take the calls in their order; `clients` maps calls to the clients that make them."""
        super().__init__(calls or {})
        self.clients = dict(clients or {})

    def __repr__(self) -> str:
        """Write the calls as Python; one whose result another takes is written in its place."""
        inner = {value.call for call in self.values() for value in _results(call)}
        written = ""
        for name, arguments in self.items():
            if name in inner:
                continue
            text = _arguments(self, arguments, "")
            if name in self.clients:
                written += f"\n{self.clients[name]}.{name}{text}"
            elif _makes_an_object(name):
                written += f"\n{name}{text}"
            else:
                written += f".{name}{text}" if written else f"{name}{text}"
        return written.removeprefix("\n") or "Request()"


def copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's arguments, with copies of the SDK's models among them.

    The SageMaker SDK fills in defaults where it finds none: the request is to stay what it was.
    """
    return {name: _copy(value) for name, value in arguments.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, list):
        return [_copy(each) for each in value]
    return value.model_copy(deep=True) if hasattr(value, "model_copy") else value


def _results(arguments: Mapping[str, Any]) -> list[Result]:
    return [value for value in arguments.values() if isinstance(value, Result)]


def _makes_an_object(name: str) -> bool:
    return name[:1].isupper()


# ---- as Python ----------------------------------------------------------------------------------
def _write(request: Request, value: Any, margin: str, *, before: str = "") -> str:
    """Write a value as Python, a long one over several lines; these begin with the margin.

    `before` is what stands before it in its first line.
    """
    if isinstance(value, Result):
        return f"{value.call}{_arguments(request, request[value.call], margin)}"
    line = _in_a_line(value)
    if len(margin + before + line) < WIDTH:
        return line
    inner = margin + "    "
    if isinstance(value, list):
        return _block("[", [_write(request, each, inner) for each in value], "]", margin=margin)
    if isinstance(value, dict):
        rows = [_row(request, f"{key!r}: ", each, margin=inner) for key, each in value.items()]
        return _block("{", rows, "}", margin=margin)
    if fields := _fields(value):
        rows = [_row(request, f"{name}=", each, margin=inner) for name, each in fields.items()]
        return _block(f"{type(value).__name__}(", rows, ")", margin=margin)
    return line


def _arguments(request: Request, arguments: Mapping[str, Any], margin: str) -> str:
    inner = margin + "    "
    rows = [_row(request, f"{name}=", value, margin=inner) for name, value in arguments.items()]
    return _block("(", rows, ")", margin=margin)


def _row(request: Request, before: str, value: Any, *, margin: str) -> str:
    return before + _write(request, value, margin, before=before)


def _block(opening: str, rows: list[str], closing: str, *, margin: str) -> str:
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
        set_fields = (
            (name, getattr(value, name), field) for name, field in kind.model_fields.items()
        )
        return {name: each for name, each, field in set_fields if each not in (None, field.default)}
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
