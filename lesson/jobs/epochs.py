"""The epochs of a training, as its log and its history.csv tell of them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Epoch(NamedTuple):
    """An epoch of a training, with its numbers on the validation rows."""

    number: int
    loss: float
    score: float
    score_name: str = "accuracy"


_EPOCH = re.compile(r"epoch +(\d+) .*validation loss (\S+) +(\w+) (\S+)")


def epoch_of(line: str) -> Epoch | None:
    """Return the epoch that a line of train_nn.py's log tells of; None if it is another line."""
    if match := _EPOCH.match(line):
        number, loss, name, score = match.groups()
        return Epoch(int(number), float(loss), float(score), name)
    return None


def epochs_in(history: str) -> list[Epoch]:
    """Return the epochs in the text of a history.csv; none of a table with other columns.

    Without a row that is being written.
    """
    rows = csv.DictReader(io.StringIO(history))
    return [epoch for row in rows if (epoch := _epoch_in(row))]


def _epoch_in(row: Mapping[str, Any]) -> Epoch | None:
    try:
        if None in row.values():
            return None
        name = next(name for name in row if name.startswith("val_") and name != "val_loss")
        return Epoch(
            int(row["epoch"]), float(row["val_loss"]), float(row[name]), name.removeprefix("val_")
        )
    except (KeyError, ValueError, StopIteration):
        return None


def epochs_of_results(folder: Path) -> list[Epoch]:
    """Return the epochs of a training that left its results in this folder; none without a file."""
    history = folder / "history.csv"
    return epochs_in(history.read_text(encoding="utf-8")) if history.exists() else []
