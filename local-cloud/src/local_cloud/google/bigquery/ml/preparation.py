"""Columns of a query's result as one matrix of numbers, and back: automatic preprocessing.

cloud.google.com/bigquery/docs/auto-preprocessing: numbers are standardised (not for trees), words
and truth values become one column per category (a number per category for trees), a point in time
its seconds and seven categories. A NULL is the mean or a category of its own; a category that
was not in the training data is none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query, not_implemented

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Feature = dict[str, Any]  # {"name", "column", "part", "mean", "scale"} or {…, "categories"}
NULL = "_null_filler"  # how the functions name the category of NULLs
MOST_BYTES = 4 * 2**30
MOST_CATEGORIES = 10_000
# Parts of a point in time, and how strftime spells them; the seconds are a number.
PARTS = {
    "day_of_month": "%d",
    "day_of_week": "%w",
    "month_of_year": "%m",
    "hour_of_day": "%H",
    "minute_of_hour": "%M",
    "week_of_year": "%U",
    "year": "%Y",
}
SECONDS = "unix_seconds"


def fit(table: pa.Table, columns: list[str], *, scaled: bool, one_hot: bool) -> list[Feature]:
    """Fit how each column is prepared, from the rows that are trained on. Raises Problem."""
    features: list[Feature] = []
    for name in columns:
        for part in _parts(table.schema.field(name)):
            label = f"{name}_{part}" if part else name
            feature: Feature = {"name": label, "column": name, "part": part}
            if _is_category(table.schema.field(name), part):
                feature |= {"categories": _categories(table, feature), "one_hot": one_hot}
            else:
                feature |= _moments(table, feature, scaled)
            features.append(feature)
    return features


def matrix(table: pa.Table, features: list[Feature]) -> np.ndarray:
    """Return one row for each of the table's, in C order. Raises Problem."""
    import numpy as np

    width = sum(map(size, features))
    if table.num_rows * width * 8 > MOST_BYTES:
        raise invalid_query(
            f"{table.num_rows:,} rows with {width:,} prepared features need more than the"
            f" {MOST_BYTES / 2**30:g} GiB that the local cloud gives a model; select fewer rows,"
            " or columns with fewer categories."
        )
    made = np.zeros((table.num_rows, width))
    for feature, start in zip(features, starts(features), strict=True):
        if "mean" in feature:
            values = numbers(table, feature)
            values[np.isnan(values)] = feature["mean"]
            made[:, start] = (values - feature["shift"]) / feature["scale"]
        else:
            _place(made, start, feature, encoded=codes(table, feature))
    return made


def _place(made: np.ndarray, start: int, feature: Feature, *, encoded: np.ndarray) -> None:
    if not feature["one_hot"]:
        made[:, start] = encoded
        return
    import numpy as np

    rows = np.flatnonzero(encoded < len(feature["categories"]))
    made[rows, start + encoded[rows]] = 1


def size(feature: Feature) -> int:
    """Return how many columns of the matrix a feature has."""
    return len(feature["categories"]) if feature.get("one_hot") else 1


def starts(features: list[Feature]) -> Iterator[int]:
    """Yield the first column of the matrix of each feature."""
    at = 0
    for feature in features:
        yield at
        at += size(feature)


def _parts(field: pa.Field) -> list[str]:
    import pyarrow.types as kinds

    if kinds.is_timestamp(field.type):
        return [SECONDS, *PARTS]
    if kinds.is_date(field.type):
        return [SECONDS, *(part for part in PARTS if part[:4] not in ("hour", "minu"))]
    kind = field.type
    if kinds.is_list(kind) or kinds.is_struct(kind) or kinds.is_large_list(kind):
        raise not_implemented(f"features of type ARRAY or STRUCT: column {field.name}")
    known = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean, is_text)
    if not any(check(kind) for check in known):
        raise invalid_query(f"Column {field.name} has type {kind}, which is no type of a feature.")
    return [""]


def is_text(kind: pa.DataType) -> bool:
    """Return whether Arrow keeps strings in it."""
    import pyarrow.types as kinds

    return bool(kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind))


def _is_category(field: pa.Field, part: str) -> bool:
    import pyarrow.types as kinds

    return part in PARTS or bool(kinds.is_boolean(field.type) or is_text(field.type))


def _column(table: pa.Table, feature: Feature) -> pa.Array:
    """Return the column, found as BigQuery finds it: in any case."""
    for name in table.column_names:
        if name.lower() == feature["column"].lower():
            return table[name].combine_chunks()
    raise invalid_query(f"Column {feature['column']} is missing from the model's input.")


def numbers(table: pa.Table, feature: Feature) -> np.ndarray:
    """Return a numeric feature's values as floats of one's own; NaN for NULL."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.types as kinds

    column = _column(table, feature)
    if feature["part"]:
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    elif not (kinds.is_integer(column.type) or kinds.is_floating(column.type)):
        try:
            column = column.cast(pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise invalid_query(
                f"Column {feature['column']} has type {column.type}; the model was trained on"
                " numbers."
            ) from None
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    if feature["part"]:
        values /= 1e6
    made: np.ndarray = values
    return made


def _moments(table: pa.Table, feature: Feature, scaled: bool) -> Feature:
    """Return mean and deviation, NULLs replaced by the mean."""
    import numpy as np

    values = numbers(table, feature)
    if np.isinf(values).any():
        raise invalid_query(f"Column {feature['column']} holds an infinite number.")
    there = values[~np.isnan(values)]
    mean = float(there.mean()) if len(there) else 0.0
    spread = float(np.sqrt(((there - mean) ** 2).sum() / max(len(values), 1)))
    tiny = spread <= 10 * np.finfo(float).eps * abs(mean)
    scale = 1.0 if tiny or not scaled else spread
    return {"mean": mean, "shift": mean if scaled else 0.0, "scale": scale}


def words(table: pa.Table, feature: Feature) -> pa.DictionaryArray:
    """Return a categorical feature's values as strings."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    column = _column(table, feature)
    if feature["part"]:
        column = pc.strftime(column.cast(pa.timestamp("us")), PARTS[feature["part"]])
    elif kinds.is_boolean(column.type) or is_text(column.type):
        column = column.cast(pa.string())
    else:
        raise invalid_query(
            f"Column {feature['column']} has type {column.type}; the model was trained on"
            " categories."
        )
    return column.dictionary_encode()


def _categories(table: pa.Table, feature: Feature) -> list[str | None]:
    encoded = words(table, feature)
    if len(encoded.dictionary) > MOST_CATEGORIES:
        raise invalid_query(
            f"Column {feature['column']} has {len(encoded.dictionary):,} categories; the local"
            f" cloud allows {MOST_CATEGORIES:,}."
        )
    categories: list[str | None] = sorted(encoded.dictionary.to_pylist())
    return [*categories, None] if encoded.null_count else categories


def codes(table: pa.Table, feature: Feature) -> np.ndarray:
    """Return each row's category by its place in the list; the list's length for an unknown one."""
    import numpy as np

    encoded = words(table, feature)
    place = {word: i for i, word in enumerate(feature["categories"])}
    unknown = len(place)
    lookup = [place.get(word, unknown) for word in encoded.dictionary.to_pylist()]
    lookup.append(place.get(None, unknown))  # the last one is for NULL
    indices = encoded.indices.fill_null(len(lookup) - 1).to_numpy(zero_copy_only=False)
    made: np.ndarray = np.array(lookup, dtype=np.int64)[indices]
    return made
