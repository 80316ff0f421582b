"""What is predicted: classes, with a number for each, or a number that is standardised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lesson import LessonError
from lesson.own_table.features import fit_scale, scale
from lesson.own_table.kinds import BOOLEAN, NUMBER, WORDS, Column, read_column

if TYPE_CHECKING:
    import pandas as pd

MOST_NUMBERED = 20  # more whole numbers from 0 on are a count rather than classes
ROWS_OF_A_CLASS = 5  # on average, so that one of them is a validation row


class Label(NamedTuple):
    """The label of each row."""

    column: Column
    classes: list[Any]  # in the order of their numbers; empty for a regression
    numbers: np.ndarray  # of the classes, int64; or the values themselves, float64

    @property
    def is_numbered(self) -> bool:
        """Return whether the table holds the numbers of the classes themselves."""
        return self.column.kind == NUMBER and self.classes == list(range(len(self.classes)))


def read_label(values: pd.Series, classes: bool | None = None) -> Label:
    """Return the labels of a table; every row must have one.

    Words, true and false are classes. So are the whole numbers from 0 on without a gap, if they are
    20 at most with five rows for each on average; other numbers are a regression. `classes` says it
    if that guess is wrong: True to tell the values apart, False to predict a number. Raises
    LessonError.
    """
    column = read_column(values)
    if not column.kind:
        raise LessonError(f"{column.name} cannot be the label: {column.remark}")
    if column.values.nunique() == 1:
        only = values.iloc[0]
        raise LessonError(f"{column.name} is {only} in every row; there is nothing to tell apart")
    found = _find_classes(column)
    are_enough_rows = len(values) >= len(found) * ROWS_OF_A_CLASS
    if classes is None:
        is_numbered = found == list(range(min(len(found), MOST_NUMBERED)))
        classes = column.kind != NUMBER or (is_numbered and are_enough_rows)
    if not classes:
        if column.kind == WORDS:
            raise LessonError(f"{column.name} holds words; a regression needs a number in each row")
        return Label(column, [], column.values.to_numpy(dtype=float))
    if not are_enough_rows:
        raise LessonError(
            f"{column.name} has {len(found)} classes in {len(values)} rows; give at least"
            f" {ROWS_OF_A_CLASS} rows for each, or name another label"
        )
    place = {value: number for number, value in enumerate(found)}
    return Label(column, found, np.array([place[value] for value in column.values], dtype="int64"))


def _find_classes(column: Column) -> list[Any]:
    """Return the different values, sorted; whole numbers as int."""
    values = sorted(column.values.unique().tolist())
    if column.kind == BOOLEAN:
        return [bool(value) for value in values]
    if column.kind == NUMBER and all(value == int(value) for value in values):
        return [int(value) for value in values]
    return values


def split_rows(label: Label, val_share: float = 0.2, seed: int = 42) -> np.ndarray:
    """Return for each row whether it is a training row, by chance but always alike.

    Of each class, the same share of rows is in both parts. The only row of a class is a training
    row.
    """
    from sklearn.model_selection import train_test_split

    rows, kinds = np.arange(len(label.numbers)), None
    if label.classes:
        rows = rows[np.bincount(label.numbers)[label.numbers] > 1]
        kinds = label.numbers[rows]
    _, val = train_test_split(rows, test_size=val_share, random_state=seed, stratify=kinds)
    is_training = np.ones(len(label.numbers), bool)
    is_training[val] = False
    return is_training


def make_y(label: Label, is_training: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Return what serving needs to know of the label, and y: int64 classes or float32 numbers."""
    about: dict[str, Any] = {"name": label.column.name}
    if label.classes:
        named = {} if label.is_numbered else {"classes": label.classes}
        return {**about, **named}, label.numbers
    scaling = fit_scale(label.numbers[is_training])
    if scaling is None:
        raise LessonError(f"{label.column.name} is the same in all training rows; give more rows")
    y = scale(label.numbers, scaling)
    if not np.isfinite(y).all():
        raise LessonError(f"{label.column.name} has values too far apart; predict its logarithm")
    return {**about, **scaling}, y
