"""Split a table's rows into those to train, to validate and to test with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from local_cloud.automl.columns import text
from local_cloud.automl.errors import BadData

TRAIN, VALIDATE, TEST = PARTS = ("training", "validation", "test")
NAMES = {"train": TRAIN, "training": TRAIN, "validate": VALIDATE, "validation": VALIDATE}
NAMES |= {"test": TEST}


@dataclass(frozen=True)
class Split:
    """How the rows are split: by fractions at random, along a time column, or by a column."""

    fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)
    column: str = ""  # holds TRAIN, VALIDATE or TEST; other rows are split by the fractions
    time: str = ""  # the oldest rows train, the latest test

    def parts(self, rows: pd.DataFrame, seed: int) -> np.ndarray:
        """Return the part of each row."""
        for name in (self.column, self.time):
            if name and name not in rows:
                raise BadData(f"there is no column {name!r} to split by")
        if self.time:
            moments = pd.to_datetime(rows[self.time], errors="coerce", utc=True, format="mixed")
            if moments.isna().any():
                row = int(np.flatnonzero(moments.isna())[0])
                value = rows[self.time].iloc[row]
                raise BadData(f"column {self.time!r}: {value!r} is not a time")
            return self._assign_parts(np.argsort(moments.to_numpy(), kind="stable"))
        assigned = self.shares(len(rows), seed)
        if self.column:
            for place, value in enumerate(rows[self.column]):
                word = text(value).strip().lower()
                if word not in (*NAMES, "", "unassigned"):
                    known = "TRAIN, VALIDATE, TEST or UNASSIGNED"
                    raise BadData(f"column {self.column!r}: {value!r} is not {known}")
                assigned[place] = NAMES.get(word, assigned[place])
        return assigned

    def shares(self, count: int, seed: int) -> np.ndarray:
        """Return the part of each of so many rows, at random."""
        return self._assign_parts(np.random.default_rng(seed).permutation(count))

    def _assign_parts(self, order: np.ndarray) -> np.ndarray:
        """Return parts of rows that stand in this order."""
        ends = np.round(np.cumsum(self.fractions)[:2] * len(order)).astype(int)
        assigned = np.empty(len(order), dtype=object)
        for part, places in zip(PARTS, np.split(order, ends), strict=True):
            assigned[places] = part
        return assigned

    @property
    def unused(self) -> tuple[str, ...]:
        """Return the columns that no model gets, because they say how to split."""
        return (self.column,) if self.column else ()


def separate_test(rows: pd.DataFrame, parts: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows to search with, which are those of training and validation, and to test."""
    train, test = rows[parts != TEST], rows[parts == TEST]
    for name, part in (("training", train), ("test", test)):
        if not len(part):
            raise BadData(f"the split leaves no row for {name}: {len(rows)} rows are given")
    return train.reset_index(drop=True), test.reset_index(drop=True)
