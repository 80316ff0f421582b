"""The last numbers of a log: of any script that prints them as most scripts do."""

from __future__ import annotations

import pytest

from local_cloud.console.records.results import Results, parse

LOGS = {
    "epoch     9  loss 0.4  validation loss 0.5  accuracy 0.7  0.1 s\n"
    "validation:accuracy = 0.8462\nvalidation:loss = 0.3795\n": Results(9, 0.8462, 0.3795),
    "Epoch 1: loss=0.9, acc=0.5\nEpoch 2: loss=0.8, acc=0.6\n": Results(2, 0.6, 0.8),
    "Epoch 3/9\nloss: 0.52 - accuracy: 0.8 - val_loss: 0.6 - val_accuracy: 0.7": (
        Results(3, 0.7, 0.6)
    ),
    "replica 0 of 1, rows 0 to 711\nall went well": Results(),
    "epoch 4 loss nan accuracy 1e999": Results(4),
}


@pytest.mark.parametrize("log", LOGS)
def test_the_last_values_are_read_and_those_of_validation_first(log: str) -> None:
    assert parse(log) == LOGS[log]
