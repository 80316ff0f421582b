"""The table of runs: run_table(). Notebooks show its numbers with units, the best ones marked."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from lesson.jobs.runs import Run

COLUMNS = (
    "place",
    "machine",
    "replicas",
    "queued",
    "starting",
    "training",
    "seconds",
    "cost",
    "accuracy",
    "loss",
    "artefacts",
)
DIGITS = dict(queued=2, starting=2, training=2, seconds=2, cost=4, accuracy=4, loss=4)
FORMATS: dict[str, str] = {
    "replicas": "{:d}",
    "queued": "{:.2f} s",
    "starting": "{:.2f} s",
    "training": "{:.2f} s",
    "seconds": "{:.2f} s",
    "cost": "${:.4f}",
    "accuracy": "{:.4f}",
    "loss": "{:.4f}",
}
BEST: dict[str, Callable[[Iterable[float]], float]] = {
    "seconds": min,
    "cost": min,
    "accuracy": max,
    "loss": min,
}

LONG = ("artefacts",)  # URIs, too long for a line
# What a narrow terminal leaves out.
LEAST_FIRST = ("queued", "starting", "training", "loss", "machine")


def run_table(runs: Sequence[Run]) -> RunTable:
    """Return the runs as a table, one row each, rounded; blank where nothing is known."""
    rows = [[getattr(run, name) for name in COLUMNS] for run in runs]
    table = RunTable(rows, columns=list(COLUMNS))
    for name, digits in DIGITS.items():
        table[name] = table[name].astype(float).round(digits)
    return RunTable(table.astype(object).where(table.notna(), ""))


class RunTable(pd.DataFrame):
    """A data frame of runs; parts of it are shown in the same way."""

    @property
    def _constructor(self) -> type[RunTable]:
        return RunTable

    def __repr__(self) -> str:
        """Show the table for a terminal and for a page.

        Both have the same numbers, without the long columns.
        """
        shown = {}
        for name in map(str, self.columns):
            if name not in LONG:
                best = self._best(name)
                shown[name] = [
                    _text(name, value) + (" *" if value == best else "  " if best else "")
                    for value in self[name]
                ]
        return pd.DataFrame(shown).to_string(index=False)

    def as_text(self, width: int | None = None) -> str:
        """Return the table without its long columns, and without others that do not fit."""
        shown = self.drop(columns=[*LONG])
        for name in LEAST_FIRST:
            if width is not None and len(shown.to_string(index=False).split("\n")[0]) > width:
                shown = shown.drop(columns=name)
        return pd.DataFrame(shown).to_string(index=False)

    def _repr_html_(self) -> str:
        names = [str(name) for name in self.columns]
        best = [self._best(name) for name in names]
        rows = []
        for row in self.itertuples(index=False, name=None):
            cells = zip(names, row, best, strict=True)
            marked = (
                (name, html.escape(_text(name, value)) + _mark(value, top))
                for name, value, top in cells
            )
            rows.append("".join(_cell("td", name, text) for name, text in marked))
        head = "".join(_cell("th", name, html.escape(name)) for name in names)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return table + ("<div>★ the best of its column</div>" if any(best) else "")

    def _best(self, name: str) -> float | None:
        """Return the best value of a column; None where there is nothing to compare."""
        if name not in BEST:
            return None
        known = [value for value in self[name] if value != ""]
        return BEST[name](known) if len(set(known)) > 1 else None


def _mark(value: Any, best: float | None) -> str:
    """Mark the best value of a column with a star."""
    is_best = best is not None and value == best
    return ' <span title="the best of this column">★</span>' if is_best else ""


def _cell(tag: str, name: str, text: str) -> str:
    style = f"text-align: {'right' if name in FORMATS else 'left'}"
    if name in LONG:  # it wraps: a table that is wider than the page is cut
        style += "; min-width: 12em; overflow-wrap: anywhere; white-space: normal"
    return f'<{tag} style="{style}">{text}</{tag}>'


def _text(name: str, value: Any) -> str:
    number = name in FORMATS and isinstance(value, int | float)
    return FORMATS[name].format(value) if number else str(value)
