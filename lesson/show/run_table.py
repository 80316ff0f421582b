"""The table of runs: run_table(). Notebooks show its numbers with units, the best ones marked."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import pandas as pd

from lesson.jobs.runs import Run, is_better_small

FIRST = ("place", "machine", "replicas", "queued", "starting", "training", "seconds", "cost")
# Between them stand the scores, named as the runs' scripts name them: accuracy, for example.
LAST = ("loss", "artefacts")
FORMATS: dict[str, str] = {
    "replicas": "{:d}",
    "queued": "{:.2f} s",
    "starting": "{:.2f} s",
    "training": "{:.2f} s",
    "seconds": "{:.2f} s",
    "cost": "${:.4f}",
    "loss": "{:.4f}",
}
SCORE = "{:.4f}"
WORDS = ("place", "machine", "code", "artefacts")
UNRANKED = (*WORDS, "replicas", "queued", "starting", "training")  # none of them is the best

LONG = ("artefacts",)  # URIs, too long for a line
# What a narrow terminal leaves out.
LEAST_FIRST = ("queued", "starting", "training", "loss", "machine")


def run_table(runs: Sequence[Run]) -> RunTable:
    """Return the runs as a table, one row each, rounded; blank where nothing is known.

    The score has the name that the script gives it; runs with different scores have a column for
    each. Runs of different code have a column `code`: the folder, and a digest of its contents.
    """
    table = RunTable([[getattr(run, name) for name in FIRST] for run in runs], columns=list(FIRST))
    for score in dict.fromkeys(run.score_name for run in runs):
        table[score] = [run.score if run.score_name == score else None for run in runs]
    for name in LAST:
        table[name] = [getattr(run, name) for run in runs]
    if len({run.digest for run in runs if run.digest}) > 1:
        table.insert(2, "code", [f"{run.code} {run.digest}".strip() for run in runs])
    for name in table.columns:
        if name not in WORDS and name != "replicas":
            table[name] = table[name].astype(float).round(_digits(name))
    return RunTable(table.astype(object).where(table.notna(), ""))


def _digits(name: str) -> int:
    """Return how many digits after the point a column has, by its format."""
    return int(_format(name).partition(".")[2][0])


def _format(name: str) -> str:
    return FORMATS.get(name, SCORE)


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
        if name in UNRANKED:
            return None
        known = [value for value in self[name] if value != ""]
        better = min if name in ("seconds", "cost") or is_better_small(name) else max
        return better(known) if len(set(known)) > 1 else None


def _mark(value: Any, best: float | None) -> str:
    """Mark the best value of a column with a star."""
    is_best = best is not None and value == best
    return ' <span title="the best of this column">★</span>' if is_best else ""


def _cell(tag: str, name: str, text: str) -> str:
    style = f"text-align: {'left' if name in WORDS else 'right'}"
    if name in LONG:  # it wraps: a table that is wider than the page is cut
        style += "; min-width: 12em; overflow-wrap: anywhere; white-space: normal"
    return f'<{tag} style="{style}">{text}</{tag}>'


def _text(name: str, value: Any) -> str:
    number = name not in WORDS and isinstance(value, int | float)
    return _format(name).format(value) if number else str(value)
