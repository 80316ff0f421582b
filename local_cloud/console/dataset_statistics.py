"""What the columns of a tabular dataset hold: a table on the dataset's page.

The statistics are those of an AutoML training (automl/statistics.py), of the files as they are now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_cloud.automl.errors import BadData
from local_cloud.console import words
from local_cloud.console.tables import Cell, Table
from local_cloud.filters import matches
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects

Json = dict[str, Any]
LARGEST = 16 << 20  # bytes: of larger tables a page would take seconds
COLUMNS = ("Column", "Type", "Missing", "Distinct", "Mean or most frequent", "From", "To")


def table_of(document: Json, objects: Objects) -> Table | None:
    """Return the statistics of a dataset of CSV files in buckets; None for another dataset.

    Reads the files: call it in a thread.
    """
    try:
        uris = document["metadata"]["inputConfig"]["gcsSource"]["uri"]
    except (KeyError, TypeError):
        return None
    if not isinstance(uris, list):
        return None
    try:
        rows, note, empty = _rows(uris, objects)
    except (BadData, StoreError) as problem:
        rows, note, empty = [], "", f"There are no statistics: {problem}."
    return Table("statistics", "Statistics", COLUMNS, rows, empty, note)


def _rows(uris: Sequence[str], objects: Objects) -> tuple[list[list[Cell]], str, str]:
    """The rows, what stands above them, and what stands there if there are none."""
    from local_cloud.automl import columns, statistics  # pandas: not before somebody looks

    files = [file for uri in sorted(uris) for file in _files(uri, objects)]
    if sum(file.stat().st_size for file in files) > LARGEST:
        return [], "", f"The files have more than {words.size(LARGEST)}; see a training's."
    found = statistics.of(columns.read(files))
    rows = [_row(name, about) for name, about in found["columns"].items()]
    return rows, f"{found['rows']:,} rows", ""


def _files(uri: str, objects: Objects) -> Iterator[Path]:
    bucket, _, pattern = uri.removeprefix("gs://").partition("/")
    for name in objects.names(bucket, pattern.split("*")[0]):
        if matches(name, pattern):
            yield objects.get(bucket, name).path


def _row(name: str, about: Json) -> list[Cell]:
    usual, low, high = "", "", ""
    if about["type"] == "number":
        low, *_, high = (words.number(each) for each in about["quantiles"])
        usual = words.number(about["mean"])
    elif about["top"]:
        most = about["top"][0]
        usual = f"{most['value'][:60]} ({most['count']:,})"
    counts = [f"{about[each]:,}" for each in ("missing", "distinct")]
    return [Cell(each) for each in (name, about["type"], *counts, usual, low, high)]
