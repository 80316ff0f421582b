"""A table of your own as arrays: split, fitted on the training rows, described for serving."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lesson import LessonError
from lesson.own_table.features import Feature, make_feature
from lesson.own_table.kinds import read_column
from lesson.own_table.label import Label, make_y, read_label, split_rows

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ROWS = 10


class Arrays(NamedTuple):
    """A prepared table, with what was found in it."""

    X: np.ndarray  # float32 (rows, features): training columns have mean 0 and deviation 1
    y: np.ndarray  # (rows,): the classes' numbers, int64, or standardised values, float32
    is_training: np.ndarray  # (rows,)
    preparation: str  # JSON, which serve_nn.py applies to raw rows
    label: Label
    features: list[Feature]  # one for each column but the label, also those that are left out
    unlabelled: int  # rows that are left out, because they have no label


def make_arrays(table: pd.DataFrame, name: str, classes: bool | None) -> Arrays:
    """Prepare a table whose label is the column `name`; for `classes`, see read_label.

    Raises LessonError.
    """
    if name not in table.columns:
        raise LessonError(_explain_missing(name, list(table.columns)))
    labelled = table[table[name].notna()].reset_index(drop=True)
    if len(labelled) < FEWEST_ROWS:
        rows = f"{len(labelled)} rows with a {name}"
        raise LessonError(f"it has {rows}; give at least {FEWEST_ROWS}, to split them")
    label = read_label(labelled[name], classes)
    is_training = split_rows(label)
    about_label, y = make_y(label, is_training)
    others = labelled.drop(columns=name)
    features = [make_feature(read_column(others[each]), is_training) for each in others]
    used = [feature for feature in features if not feature.problem]
    if not used:
        why = "; ".join(f"{each.column.name}: {each.problem}" for each in features[:5])
        raise LessonError(f"no column but {name} can be used; {why or 'there is none'}")
    preparation = {"features": [feature.fitted for feature in used], "label": about_label}
    return Arrays(
        X=np.column_stack([feature.values for feature in used]),
        y=y,
        is_training=is_training,
        preparation=json.dumps(preparation, indent=1),
        label=label,
        features=features,
        unlabelled=len(table) - len(labelled),
    )


def _explain_missing(name: str, columns: Sequence[Any]) -> str:
    """Say which columns there are instead of the label."""
    like = [each for each in columns if str(each).strip().casefold() == name.strip().casefold()]
    if like:
        return f"it has no column {name!r}, but {like[0]!r}; write label={like[0]!r}"
    shown = ", ".join(map(str, columns[:10])) + (", ..." if len(columns) > 10 else "")
    return f"it has no column {name!r}; name one of {shown}"
