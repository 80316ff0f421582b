"""Tables of anything: what stands in a cell, and the order of rows. One template draws all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from local_cloud.store import readable

Item = TypeVar("Item")
UNCLEAR = "its record cannot be understood; the local cloud's log says why"


@dataclass(frozen=True)
class Cell:
    """One cell: a text, a link, a chip with a state, a time, a bar of a share."""

    text: str = ""
    href: str = ""  # relative to the console's root
    note: str = ""  # in small print below
    chip: str = ""  # the class of a state
    moment: float | None = None  # seconds since the epoch
    share: float | None = None  # per cent
    code: bool = False  # whether the text is a line of a program


Row = Sequence[Cell]


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is its name."""

    id: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    empty: str = ""  # what to do to have something in it
    note: str = ""


def rows_of(
    kind: str, items: Iterable[tuple[str, Item]], make: Callable[[str, Item], Row], *, columns: int
) -> list[Row]:
    """Return make(name, item) for each; of what makes no sense the name, and a note that says so.

    kind: of the records, for the server's log; columns: of the table.
    """
    rows: list[Row] = []
    for name, item in items:
        try:
            rows.append(make(name, item))
        except readable.NOT_UNDERSTOOD as problem:
            readable.note(kind, name, repr(problem))
            rows.append([Cell(name.rpartition("/")[2], note=UNCLEAR), *[Cell()] * (columns - 1)])
    return rows


def by_time(rows: Sequence[Sequence[Cell]], column: int) -> list[Sequence[Cell]]:
    """Return the rows, the newest first."""
    return sorted(rows, key=lambda row: row[column].moment or 0.0, reverse=True)
