"""From columns to features: fill-in value, codes and scale, fitted on the training rows alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lesson.own_table.kinds import LARGEST, NUMBER, WORDS, Column

if TYPE_CHECKING:
    import pandas as pd

# One number has to tell the categories apart: the states of the USA fit, but not all towns.
MOST_CATEGORIES = 50
CALLED_ID = re.compile(r"(.*[\W_])?[Ii][Dd]|.*[a-z]I[Dd]")
UNSEEN = -1.0  # the code of a word that only the validation rows have
SMALLEST = float(np.finfo(np.float32).tiny)  # a smaller scale has lost its digits


class Feature(NamedTuple):
    """What becomes of a column."""

    column: Column
    fitted: dict[str, Any]  # as serve_nn.py reads it: name, fill, categories, mean, scale
    values: np.ndarray  # float32, one for each row
    problem: str = ""  # why the column is left out; the two others are empty then


def make_feature(column: Column, is_training: np.ndarray) -> Feature:
    """Fit a column on the training rows, and prepare all its rows, or say why it is left out."""
    problem = column.remark if not column.kind else find_id(column)
    if problem:
        return _left_out(column, problem)
    known = column.values[is_training].dropna()
    if not len(known):
        return _left_out(column, "no training row has a value")
    if column.kind == WORDS:
        return _make_of_words(column, known, is_training)
    fill = float(known.median() if column.kind == NUMBER else known.mode()[0])
    numbers = column.values.fillna(fill).to_numpy(dtype=float)
    fitted = {"name": column.name, "fill": fill}
    return _scaled(column, fitted, numbers, is_training=is_training)


def find_id(column: Column) -> str:
    """Return why a column only tells the rows apart; "" for any other."""
    values = column.values.dropna()
    if len(values) < 3 or not values.is_unique:
        return ""
    if column.kind == WORDS:
        return "its words are all different, so it only names the rows"
    is_whole = bool((values % 1 == 0).all())
    is_running = len(values) == len(column.values) == values.max() - values.min() + 1
    if is_whole and (is_running or CALLED_ID.fullmatch(column.name.strip())):
        return "it numbers the rows"
    return ""


def _make_of_words(column: Column, known: pd.Series, is_training: np.ndarray) -> Feature:
    """Code words by their place in the sorted list of those that the training rows have."""
    categories = sorted(str(word) for word in known.unique())
    most = min(MOST_CATEGORIES, int(is_training.sum()) // 2)
    if len(categories) > most:
        first = f"it has {len(categories)} different words, such as {categories[0]!r}"
        return _left_out(
            column, f"{first}: group them into at most {most}, or make numbers of them"
        )
    fill = str(known.mode()[0])
    place = {word: float(code) for code, word in enumerate(categories)}
    codes = column.values.fillna(fill).map(place).fillna(UNSEEN).to_numpy(dtype=float)
    fitted = {"name": column.name, "fill": fill, "categories": categories}
    return _scaled(column, fitted, codes, is_training=is_training)


def _scaled(
    column: Column, fitted: dict[str, Any], numbers: np.ndarray, *, is_training: np.ndarray
) -> Feature:
    """Add mean and scale, and bring the numbers to them."""
    scaling = fit_scale(numbers[is_training])
    if scaling is None:
        return _left_out(column, "it is the same in all training rows")
    scaled = scale(numbers, scaling)
    if not np.isfinite(scaled).all():
        return _left_out(column, "its validation rows are too far from its training rows")
    return Feature(column, {**fitted, **scaling}, scaled)


def fit_scale(numbers: np.ndarray) -> dict[str, float] | None:
    """Return mean and standard deviation, or None for numbers that do not differ.

    Numbers that differ by less than a billionth of their size do not: rounding hides the rest.
    """
    mean, deviation = float(numbers.mean()), float(numbers.std())
    if deviation < max(SMALLEST, 1e-9 * abs(mean)):
        return None
    return {"mean": mean, "scale": deviation}


def scale(numbers: np.ndarray, scaling: Mapping[str, float]) -> np.ndarray:
    """Return numbers with mean 0 and deviation 1, float32; infinite if that cannot hold them."""
    scaled = (numbers - scaling["mean"]) / scaling["scale"]
    return np.where(np.abs(scaled) <= LARGEST, scaled, np.inf).astype(np.float32)


def _left_out(column: Column, problem: str) -> Feature:
    return Feature(column, {}, np.empty(0, np.float32), problem)
