"""Which rows a model is trained on and which it is evaluated on.

The rules: bigqueryml-syntax-create-glm#data_split_method. RANDOM and AUTO_SPLIT order the rows by a
hash of their values, so the same rows give the same split, in whichever order they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local_cloud.google.bigquery.api.errors import invalid_query

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

SMALL, LARGE, OF_LARGE = 500, 50_000, 10_000


def evaluation_rows(table: pa.Table, options: dict[str, Any]) -> np.ndarray | None:
    """Mark each row that is only evaluated on; None if there is no split."""
    method, count = options["data_split_method"], table.num_rows
    fraction = options["data_split_eval_fraction"]
    if method == "AUTO_SPLIT":
        if count < SMALL:
            return None
        return _hash(table, round(count * 0.2) if count <= LARGE else OF_LARGE)
    if method == "NO_SPLIT":
        return None
    if method == "RANDOM":
        return _hash(table, round(count * fraction))
    column = _split_column(table, options["data_split_col"])
    return _custom(column) if method == "CUSTOM" else _sequential(column, round(count * fraction))


def _split_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    for field in table.schema:
        if field.name.lower() == name.lower():
            return table[field.name]
    raise invalid_query(f"Column {name}, named by data_split_col, is not in the query's result.")


def _hash(table: pa.Table, count: int) -> np.ndarray:
    """Return the rows with the smallest hashes."""
    import numpy as np
    from pandas.util import hash_array

    total = np.zeros(table.num_rows, dtype=np.uint64)
    for number, name in enumerate(table.column_names):
        column = table[name]
        if _plain(column):
            hashed = hash_array(column.to_numpy())
        else:
            encoded = column.combine_chunks().dictionary_encode()
            said = np.array([*map(repr, encoded.dictionary.to_pylist()), "NULL"], dtype=object)
            places = encoded.indices.fill_null(len(said) - 1).to_numpy(zero_copy_only=False)
            hashed = hash_array(said)[places]
        total = total * np.uint64(31) + hashed * np.uint64(2 * number + 1)
    mask = np.zeros(table.num_rows, dtype=bool)
    if count:
        mask[np.argpartition(total, count - 1)[:count]] = True
    return mask


def _plain(column: pa.ChunkedArray) -> bool:
    import pyarrow.types as kinds

    kind = column.type
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind)) and not column.null_count


def _custom(column: pa.ChunkedArray) -> np.ndarray:
    """Split by a column: TRUE and NULL are evaluated on, FALSE is trained on."""
    import pyarrow.types as kinds

    if not kinds.is_boolean(column.type):
        raise invalid_query(
            "The column of data_split_col must be BOOL for data_split_method CUSTOM."
        )
    mask: np.ndarray = column.fill_null(True).to_numpy().astype(bool)
    return mask


def _sequential(column: pa.ChunkedArray, count: int) -> np.ndarray:
    """Choose the largest values to be evaluated on."""
    import numpy as np
    import pyarrow.compute as pc

    order = pc.sort_indices(column.combine_chunks()).to_numpy()
    order = np.roll(order, column.null_count)  # NULL, which Arrow has last, is the smallest
    mask = np.zeros(len(order), dtype=bool)
    mask[order[len(order) - count :]] = True
    return mask
