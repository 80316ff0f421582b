"""What the script's train_epoch() needs, around a table and a model of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

import train_nn as script


def ready_to_train(table: Any, hidden: Sequence[int], batch: int, layers: Any = script) -> Any:
    """A training that has not begun. layers: the script, or the companion that shares layers."""
    features = int(table.X.shape[1])
    model = layers.build_model(features, hidden, 0, torch.device("cpu"))
    return SimpleNamespace(
        flags=SimpleNamespace(batch_size=batch),
        table=table,
        model=model,
        optimizer=layers.Adam(model, 0.001),
        shuffle=torch.Generator().manual_seed(0),
        losses=[],
        stop=0,
        checkpoints=None,
        compute_gradients=script.compute_gradients,
    )


def bytes_of(optimizer: Any) -> dict[str, int]:
    """The bytes that this replica holds, as in metrics.json."""
    state = sum(each.nbytes for each in optimizer.state)
    return {"parameters": optimizer.weights.nbytes, "optimiser": state}


def keep_memory() -> None:
    """What the script does, lest glibc hand large blocks back after each step."""
    torch.empty(8 * 2**20 - 4096)
