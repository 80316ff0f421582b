"""Runs that end before their time, and what they leave in their folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.pool import in_step, instead, weights_of
from tests.training.support import (
    train,
)
from training import train_nn


def metrics(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text())


def history(folder: Path) -> list[list[str]]:
    """Every epoch's numbers but the seconds, to the last digit."""
    lines = (folder / "history.csv").read_text().splitlines()
    return [line.split(",")[:4] for line in lines]


def checkpoint(folder: Path) -> Path:
    """The checkpoint in the model's folder."""
    return folder / "checkpoints" / train_nn.CHECKPOINT


def state_in(checkpoint: Path) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(checkpoint, weights_only=True)
    return state


def epochs_in(checkpoint: Path) -> int:
    return len(state_in(checkpoint)["history"])


class Died(Exception):
    """Stands for the end of a process that cannot write anything more."""


def die(*_: object) -> None:
    raise Died


def dies(step: int, archive: Path, folder: Path, *flags: Any) -> None:
    """Train inside this process and end without a word after this step."""
    with instead(add_up_gradients=in_step(step, die)), pytest.raises(Died):
        train(archive, folder, *flags)


def same(one: Path, other: Path) -> None:
    """The same model to the last bit, by the same way."""
    assert torch.equal(weights_of(one), weights_of(other))
    assert history(one) == history(other)
    first, second = metrics(one)["epochs"], metrics(other)["epochs"]
    assert first | {"resumed": []} == second | {"resumed": []}


def saved_epochs(folder: Path) -> int:
    return epochs_in(checkpoint(folder)) if checkpoint(folder).exists() else 0


def has_saved_more_than(epochs: int, folder: Path) -> bool:
    return saved_epochs(folder) > epochs


def is_half_written(folder: Path) -> bool:
    return any((folder / "checkpoints").glob("*.part"))
