"""What the columns of a tabular dataset hold: a table on the dataset's page.

The statistics are those of an AutoML training (automl/statistics.py), of the files as they are now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from local_cloud import extras
from local_cloud.automl.errors import BadData
from local_cloud.bounded import process
from local_cloud.bounded.errors import CannotRead, DamagedFile
from local_cloud.bounded.limits import Limits
from local_cloud.console.site import words
from local_cloud.console.site.tables import Cell, Table
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.wildcards import matches

LARGEST = 16 << 20  # bytes: of larger tables a page would take seconds
LIMITS = Limits(memory=1 << 30, seconds=20)
LONGEST = 60  # characters of a value
COLUMNS = ("Column", "Type", "Missing", "Distinct", "Mean or most frequent", "From", "To")


def table_of(document: Json, objects: Objects) -> Table | None:
    """Return the statistics of a dataset of CSV files in buckets; None for another dataset.

    Waits for a process that reads the files: call it in turn (bounded/turns.py).
    """
    try:
        uris = document["metadata"]["inputConfig"]["gcsSource"]["uri"]
    except (KeyError, TypeError):
        return None
    if not isinstance(uris, list):
        return None
    try:
        rows, note, empty = _rows(uris, objects)
    except (CannotRead, OSError, StoreError) as problem:
        rows, note, empty = [], "", f"There are no statistics: {problem}."
    return Table("statistics", "Statistics", COLUMNS, rows, empty, note)


def _rows(uris: Sequence[str], objects: Objects) -> tuple[list[list[Cell]], str, str]:
    """Return the rows, what stands above them, and what stands there if there are none."""
    files = [file for uri in sorted(uris) for file in _files(uri, objects)]
    with_facts = [(file, file.stat()) for file in files]
    if sum(facts.st_size for _, facts in with_facts) > LARGEST:
        return [], "", f"The files have more than {words.size(LARGEST)}; see a training's."
    known = _statistics(
        tuple((str(file), facts.st_mtime_ns, facts.st_ino) for file, facts in with_facts)
    )
    if isinstance(known, CannotRead):
        raise known
    rows = [_row(name, about) for name, about in known["columns"].items()]
    return rows, f"{known['rows']:,} rows", ""


@lru_cache(maxsize=32)  # a page that is open asks again every few seconds
def _statistics(files: tuple[tuple[str, int, int], ...]) -> Json | CannotRead:
    """Return the statistics of these files as they are at a time, or why there are none."""
    try:
        statistics: Json = process.call(describe, [path for path, *_ in files], limits=LIMITS)
    except CannotRead as problem:
        return problem
    return statistics


def describe(paths: list[str]) -> Json:
    """Return the statistics of CSV files: a function for a process with limits."""
    if why := extras.explain_missing("automl"):
        raise DamagedFile(f"there are no statistics {why}")
    from local_cloud.automl import columns, statistics

    try:
        described = statistics.of(columns.read([Path(path) for path in paths]))
    except BadData as problem:
        raise DamagedFile(str(problem)) from None
    for about in described["columns"].values():
        about["top"] = [one | {"value": one["value"][:LONGEST]} for one in about["top"][:1]]
    return described


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
        usual = f"{most['value']} ({most['count']:,})"
    counts = [f"{about[each]:,}" for each in ("missing", "distinct")]
    return [Cell(each) for each in (name, about["type"], *counts, usual, low, high)]
