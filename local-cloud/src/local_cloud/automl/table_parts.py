"""The rows of a table's parts, as CSV files: a function for a process with limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from local_cloud.automl import columns
from local_cloud.automl.errors import BadData
from local_cloud.automl.splits import PARTS, Split
from local_cloud.bounded.errors import DamagedFile


def write(paths: Sequence[str], split: Mapping[str, Any], *, seed: int, folder: str) -> None:
    """Write FOLDER/PART.csv for each part; split: the fields of a Split. Raises DamagedFile."""
    try:
        rows = columns.read([Path(path) for path in paths])
        parts = Split(**split).parts(rows, seed)
    except BadData as problem:
        raise DamagedFile(str(problem)) from None
    for part in PARTS:
        rows[parts == part].to_csv(Path(folder, f"{part}.csv"), index=False)
