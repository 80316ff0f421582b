"""Read taxi rides from sharded CSV files, on this machine or in a bucket, and write results."""

from __future__ import annotations

import glob
import io
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

COLUMNS = (
    "fare_amount",
    "pickup_datetime",
    "pickup_longitude",
    "pickup_latitude",
    "dropoff_longitude",
    "dropoff_latitude",
    "passenger_count",
    "key",
)
# What the network gets of each ride; weekday: 0 is Monday.
FEATURES = (*COLUMNS[2:7], "weekday", "hour")


class BadRides(Exception):
    """An input cannot be used; the message says what, where and what to do."""


class Rides(NamedTuple):
    """Rides as arrays."""

    X: np.ndarray  # (rides, features), float32
    y: np.ndarray  # (rides, 1), fares in dollars


def read(patterns: Sequence[str]) -> Rides:
    """Return the rides in all files that match; without a header, in the order of COLUMNS.

    A pattern names local files or, with gs://, objects; `*`, `?` and `[…]` are wildcards.
    """
    shards = {name: text for pattern in patterns for name, text in sorted(_find(pattern).items())}
    if not shards:
        raise BadRides(f"{' '.join(patterns)}: no file has such a name; check it")
    return _arrays(pd.concat([_table(name, content) for name, content in shards.items()]))


def _find(pattern: str) -> dict[str, bytes]:
    """Return the content of each file or object whose name matches, by name."""
    if not pattern.startswith("gs://"):
        return {name: Path(name).read_bytes() for name in glob.glob(pattern)}
    from google.cloud import storage

    bucket, _, name = pattern.removeprefix("gs://").partition("/")
    fixed = min((name.index(sign) for sign in "*?[" if sign in name), default=len(name))
    return {
        f"gs://{bucket}/{blob.name}": blob.download_as_bytes()
        for blob in storage.Client().list_blobs(bucket, prefix=name[:fixed])
        if fnmatchcase(blob.name, name)
    }


def _table(name: str, content: bytes) -> pd.DataFrame:
    """Return a shard as a table, or refuse it."""
    try:
        table = pd.read_csv(io.BytesIO(content), header=None)
    except ValueError as problem:  # pandas' own errors are ValueErrors
        raise BadRides(f"{name}: {problem}; give CSV files of rides") from None
    if len(table.columns) != len(COLUMNS):
        raise BadRides(f"{name}: {len(table.columns)} columns; a ride has {', '.join(COLUMNS)}")
    table.columns = pd.Index(COLUMNS)
    try:
        table["pickup_datetime"] = pd.to_datetime(table["pickup_datetime"], utc=True)
        numbers = table[[*COLUMNS[2:7], "fare_amount"]].astype(np.float32)
    except ValueError as problem:
        raise BadRides(f"{name}: {problem}; the files have no header") from None
    if not np.isfinite(numbers).all(axis=None) or table["pickup_datetime"].isna().any():
        raise BadRides(f"{name}: values are missing; fill them in, or drop these rides")
    return table


def _arrays(table: pd.DataFrame) -> Rides:
    """Return the features and the fares of a table."""
    started = table["pickup_datetime"].dt
    table = table.assign(weekday=started.day_of_week, hour=started.hour)
    return Rides(
        table[[*FEATURES]].to_numpy(np.float32),
        table[["fare_amount"]].to_numpy(np.float32),
    )


def write(folder: str, files: Mapping[str, bytes]) -> None:
    """Write files, by their names below a folder, which may be a gs:// URI."""
    if folder.startswith("gs://"):
        from google.cloud import storage

        bucket, _, prefix = folder.removeprefix("gs://").rstrip("/").partition("/")
        client = storage.Client().bucket(bucket)
        for name, content in files.items():
            client.blob(f"{prefix}/{name}".lstrip("/")).upload_from_string(content)
        return
    for name, content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
