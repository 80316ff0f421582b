"""A table's columns: read from CSV files as texts, then each a number, a category or dropped."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from local_cloud.automl.errors import BadData

NUMERIC, CATEGORY, AUTO = "numeric", "category", "auto"
MANY = 50  # categories; above that, and with few rows for each, a column is taken for a text
ROWS_EACH = 2.0
MOST_COLUMNS = 1000  # of a table, as on Vertex AI


@dataclass(frozen=True)
class Columns:
    """Which of a table's columns the models get, and as what."""

    numeric: tuple[str, ...]
    categories: tuple[str, ...]
    dropped: Mapping[str, str] = field(default_factory=dict)  # column -> why no model gets it

    @classmethod
    def of(cls, rows: pd.DataFrame, target: str, kinds: Mapping[str, str] | None = None) -> Columns:
        """Look at the columns; kinds: those of which the caller knows numeric or category."""
        numeric: list[str] = []
        categories: list[str] = []
        dropped: dict[str, str] = {}
        for name in (each for each in rows.columns if each != target):
            wanted = (kinds or {}).get(name, AUTO)
            kind, why = (wanted, "") if wanted != AUTO else kind_of(rows[name])
            if why:
                dropped[name] = why
            else:
                (numeric if kind == NUMERIC else categories).append(name)
        if not numeric and not categories:
            raise BadData(
                f"no column is left to predict {target!r} with: {dropped or 'none given'}"
            )
        return cls(tuple(numeric), tuple(categories), dropped)

    @property
    def used(self) -> tuple[str, ...]:
        """Return the names of the columns that the models get."""
        return self.numeric + self.categories

    def frame(self, rows: pd.DataFrame | Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Return these columns of some rows: numbers, and categories as texts.

        A column that a row does not have, and an empty value, are missing values.
        """
        given = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows), dtype=object)
        columns: dict[str, Any] = {}
        for name in self.numeric:
            values = given[name] if name in given else pd.Series([None] * len(given), dtype=object)
            columns[name] = numbers(values, name)
        for name in self.categories:
            values = given[name] if name in given else pd.Series([None] * len(given), dtype=object)
            columns[name] = np.array([text(value) for value in values], dtype=object)
        return pd.DataFrame(columns, index=range(len(given)))

    def document(self) -> dict[str, Any]:
        """Return the columns as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Columns:
        """Read the columns of a document."""
        numeric, categories = tuple(document["numeric"]), tuple(document["categories"])
        return cls(numeric, categories, dict(document["dropped"]))


# What pandas raises for bytes that are no table, and for a .gz that is damaged or cut off.
UNREADABLE = (
    pd.errors.ParserError,
    pd.errors.EmptyDataError,
    UnicodeDecodeError,
    zlib.error,
    gzip.BadGzipFile,
    EOFError,
)


def read(paths: Sequence[Path]) -> pd.DataFrame:
    """Read CSV files that have the same header; every value is a text, or None if it is empty."""
    parts: list[pd.DataFrame] = []
    for path in paths:
        try:
            part = pd.read_csv(path, dtype=str, encoding="utf-8-sig")
        except UNREADABLE as problem:
            if "out of memory" in str(problem):  # of pandas' parser
                raise BadData(f"{path.name} needs more memory than there is") from None
            raise BadData(f"{path.name} is not a CSV file with a header: {problem}") from None
        if parts and list(part.columns) != list(parts[0].columns):
            raise BadData(f"{path.name} has other columns than {paths[0].name}")
        parts.append(part)
    if not parts or not sum(map(len, parts)):
        raise BadData("the CSV files have no rows")
    rows = pd.concat(parts, ignore_index=True).astype(object)
    if len(rows.columns) > MOST_COLUMNS:
        raise BadData(f"the table has {len(rows.columns)} columns; {MOST_COLUMNS} are the most")
    return rows.where(rows.notna(), None)


def kind_of(values: pd.Series) -> tuple[str, str]:
    """Return whether a column holds numbers or categories, or else why it is dropped."""
    present = values[values.notna()]
    different = present.astype(str).nunique()
    if different == 0 or (different == 1 and len(present) == len(values)):
        return "", "every row has the same value" if different else "every value is missing"
    if is_numeric(present):
        return ("", "taken for the rows' numbers") if _counts(present) else (NUMERIC, "")
    if different > MANY and different > len(present) / ROWS_EACH:
        return "", f"{different} different values in {len(present)} rows: taken for free text"
    return CATEGORY, ""


def _counts(present: pd.Series) -> bool:
    """Return whether many rows hold nothing but different whole numbers, near each other."""
    values = pd.to_numeric(present).astype(float)
    near = values.max() - values.min() < 2 * len(values)
    return bool(len(values) > MANY and near and values.is_unique and (values % 1 == 0).all())


def is_numeric(present: pd.Series) -> bool:
    """Return whether all values are numbers."""
    return bool(pd.to_numeric(present, errors="coerce").notna().all())


def numbers(values: Any, name: str) -> np.ndarray:
    """Return a column as numbers, NaN where a value is missing."""
    parsed = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").to_numpy(
        float, copy=True
    )
    for value, number in zip(values, parsed, strict=True):
        if np.isnan(number) and text(value).strip().lower() not in ("", "nan", "na", "null"):
            raise BadData(f"column {name!r}: {value!r} is not a number")
    parsed[~np.isfinite(parsed)] = np.nan
    return np.asarray(parsed)


def text(value: Any) -> str:
    """Return a category's text; "" for a missing value.

    A JSON number 3.0 is the "3" of a CSV file.
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
