"""What was done to a table: the rows, the label, and a line for each column."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from lesson.own_table.arrays import Arrays
from lesson.own_table.features import Feature
from lesson.own_table.kinds import BOOLEAN
from lesson.own_table.label import MOST_NUMBERED, Label

WIDEST = 60  # of a list of words in a line


def describe(arrays: Arrays) -> str:
    """Return the report of a preparation, as prepare() prints it."""
    train, rows = int(arrays.is_training.sum()), len(arrays.is_training)
    lines = [f"{rows} rows: {train} for training, {rows - train} for validation"]
    if arrays.unlabelled:
        lines.append(f"left out, because they have no label: {arrays.unlabelled} rows")
    about = json.loads(arrays.preparation)["label"]
    lines += [*_describe_label(arrays.label, about), ""]
    return "\n".join([*lines, *_align([_cells(feature) for feature in arrays.features])])


def _describe_label(label: Label, about: dict[str, Any]) -> list[str]:
    """Say what is predicted, what it means for train_nn.py, and how to choose otherwise."""
    name = _one_line(label.column.name)
    if not label.classes:
        scaling = f"mean {about['mean']:.4g}, scale {about['scale']:.4g}"
        lines = [f"label {name}: a number; {scaling}", _advise("()", outputs=1)]
        if label.column.values.nunique() <= MOST_NUMBERED:
            lines.append("  to tell its values apart instead: prepare(..., classes=True)")
        return lines
    count = len(label.classes)
    words = f"{count} classes"
    if not label.is_numbered:
        pairs = [f"{number} is {value}" for number, value in enumerate(label.classes)]
        words += f": {_shorten(pairs)}"
    numbers = str(tuple(range(count))) if count <= 10 else f"tuple(range({count}))"
    lines = [f"label {name}: {words}", _advise(numbers, outputs=1 if count == 2 else count)]
    if label.is_numbered and count > 2:
        lines.append("  to predict a number instead: prepare(..., classes=False)")
    alone = [label.classes[each] for each in np.flatnonzero(np.bincount(label.numbers) == 1)]
    if alone:
        lines.append(f"  in one row only, which is for training: {_shorten(alone)}")
    return lines


def _advise(labels: str, outputs: int) -> str:
    """Say what to set in train_nn.py."""
    if labels == "(0, 1)":
        return "  train_nn.py predicts it unchanged: LABELS = (0, 1)"
    number = f"{outputs} outputs" if outputs > 1 else "1 output"
    return f"  in a copy of train_nn.py: LABELS = {labels}, and a network with {number}"


def _cells(feature: Feature) -> tuple[str, ...]:
    """Return a column's line: name, kind, gaps, their fill, and codes and scale."""
    column, fitted = feature.column, feature.fitted
    name, gaps = _one_line(column.name), str(column.values.isna().sum())
    if feature.problem:
        return name, "left out", gaps, "", _one_line(feature.problem)
    scaling = f"mean {fitted['mean']:.4g}, scale {fitted['scale']:.4g}"
    if "categories" in fitted:
        coding = f"{_shorten(fitted['categories'])}; {scaling}"
        return name, column.kind, gaps, _shorten([fitted["fill"]]), coding
    if column.kind == BOOLEAN:
        return name, column.kind, gaps, f"{fitted['fill']:g}", f"false is 0, true is 1; {scaling}"
    remark = f"; {column.remark}" if column.remark else ""
    return name, column.kind, gaps, f"{fitted['fill']:.4g}", scaling + remark


def _align(rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table with a heading."""
    table = [("column", "kind", "gaps", "fill", "codes in order; mean, scale"), *rows]
    name, kind, gaps, fill = (max(len(row[place]) for row in table) for place in range(4))
    return [
        f"{row[0]:<{name}}  {row[1]:<{kind}}  {row[2]:>{gaps}}  {row[3]:>{fill}}  {row[4]}"
        for row in table
    ]


def _shorten(words: list[Any]) -> str:
    """Return words in a line that is not too long."""
    line = _one_line(", ".join(map(str, words)))
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 3]}..."


def _one_line(text: str) -> str:
    return " ".join(text.split())
