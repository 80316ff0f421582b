"""A pytest plugin for nbval: what a cell shows is compared as its page means it.

`-p tests.shown_outputs`. A number may differ within the tolerance that the cell states, and the
line that says how long a cell has been running is not the cell's own.
"""

from __future__ import annotations

from typing import Any

from nbval import plugin

from lesson.show import waiting_line as waiting
from tests.within import settle, tolerance

_compare = plugin.IPyNbCell.compare_outputs


def compare_outputs(cell: plugin.IPyNbCell, shown: list[Any], page: list[Any]) -> bool:
    """Whether a cell showed what its page says, within the tolerance that the cell states.

    A line that says how long the cell has been running is not the cell's own.
    """
    shown = [each for each in shown if each.get("metadata") != waiting.MARK]
    within = tolerance(cell.cell.source)
    for mine, expected in zip(shown, page, strict=False):
        _settle(mine.get("data", mine), expected.get("data", expected), within)
    alike: bool = _compare(cell, shown, page)
    return alike


def _settle(shown: dict[str, Any], expected: dict[str, Any], within: float) -> None:
    """The same in the texts of one output, by their types."""
    for kind in shown.keys() & expected.keys():
        if isinstance(shown[kind], str):
            shown[kind] = settle(shown[kind], expected[kind], within)


def pytest_configure() -> None:
    """Before any notebook is read or run."""
    plugin.IPyNbCell.compare_outputs = compare_outputs  # its constructor wants no subclass
