"""A run of the script around a table and a network of a benchmark, and an epoch of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import train_nn as script


def ready_to_train(
    table: Any, hidden: Sequence[int], batch: int, replica: script.Replica | None = None
) -> script.Run:
    """Return a training that has not begun, with weights on the CPU and Adam."""
    widths = ",".join(str(width) for width in hidden)
    words = ["--train=-", "--val=-", f"--hidden={widths}", f"--batch_size={batch}"]
    flags = script.parse_flags(words)
    replica = replica or script.Replica()
    return script.start_run(flags, replica, torch.device("cpu"), train=table, val=table)


def train_one_epoch(run: script.Run) -> None:
    """Train for an epoch as the script's fit() does, with its shuffle."""
    script.train_one_epoch(
        run.model, run.optimizer, run.train, batch_size=run.batch_size, shuffle=run.shuffle
    )


def table_of(X: torch.Tensor, y: torch.Tensor, rank: int = 0, replicas: int = 1) -> script.Table:
    """Return a replica's own rows of a table: X (rows, features) and y (rows, 1), float32."""
    own = script.own_range(len(X), rank, replicas)
    return script.Table(
        X=X[own.start : own.stop],
        y=y[own.start : own.stop],
        own=own,
        rows=len(X),
        replicas=replicas,
        preparation="",
        digest="",
    )
