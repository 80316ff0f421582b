"""The network that predicts a fare, and how it is trained; `task.py` starts this."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from trainer.replicas import Group, Replica, shares
from trainer.rides import Rides

LOW, HIGH = (-74.05, 40.60), (-73.75, 40.90)  # longitudes and latitudes around New York


def build(nbuckets: int, nnsize: Sequence[int], mean_fare: float, seed: int = 0) -> keras.Model:
    """Return the network: rides as in rides.FEATURES to fares in dollars.

    The city is divided into nbuckets x nbuckets cells, so that each has its own weights.
    """
    rides = keras.Input((7,), name="rides")
    spans = [high - low for low, high in zip(LOW, HIGH, strict=True)] * 2
    offsets = [-low / span for low, span in zip(LOW * 2, spans, strict=True)]
    places = layers.Rescaling([1 / span for span in spans], offsets)(rides[:, :4])  # 0 to 1
    steps = ops.abs(places[:, :2] - places[:, 2:])
    length = ops.sum(steps, axis=1, keepdims=True)
    cells = ops.cast(ops.clip(places * nbuckets, 0, nbuckets - 1), "int32")
    known = [
        ops.one_hot(cells[:, 0] * nbuckets + cells[:, 1], nbuckets**2),  # picked up in
        ops.one_hot(cells[:, 2] * nbuckets + cells[:, 3], nbuckets**2),
        ops.one_hot(ops.cast(rides[:, 5] * 24 + rides[:, 6], "int32"), 7 * 24),  # hour of the week
    ]
    hidden = layers.Concatenate()([places, steps, length, rides[:, 4:5] / 6, *known])
    for width in nnsize:
        hidden = layers.Dense(width, activation="relu")(hidden)
    model = keras.Model(rides, layers.Dense(1, name="fare")(hidden))
    _initialise(model, mean_fare, seed)
    return model


def _initialise(model: keras.Model, mean_fare: float, seed: int) -> None:
    """Set the first weights, with numpy: each backend would draw others for the same seed."""
    random = np.random.default_rng(seed)
    weights = [np.zeros(each.shape, np.float32) for each in model.weights]
    for each in weights:
        if each.ndim == 2:
            bound = np.sqrt(6 / sum(each.shape))  # Glorot and Bengio, 2010
            each[:] = random.uniform(-bound, bound, each.shape)
    weights[-1][:] = mean_fare
    model.set_weights(weights)


class AveragedAdam(keras.optimizers.Adam):
    """Adam, with the gradients of all replicas."""

    def __init__(self, group: Group, learning_rate: float) -> None:
        """Step by what the group averages."""
        super().__init__(learning_rate)
        self.group = group

    def apply(self, grads: Sequence[Any], trainable_variables: Any = None) -> None:
        """Average the gradients, then step."""
        super().apply(self.group.average(list(grads)), trainable_variables)


def train(
    train: Rides,
    valid: Rides,
    replica: Replica,
    group: Group,
    flags: Mapping[str, Any],
    report: Callable[[float, int], None],
) -> tuple[keras.Model, dict[str, Any]]:
    """Train; return the model and the results: the last error in dollars, and all of them.

    After each evaluation, report(error, its number from 0) is called.
    """
    model = build(flags["nbuckets"], flags["nnsize"], float(train.y.mean()))
    model.compile(
        AveragedAdam(group, flags["lr"]),
        loss="mse",
        metrics=[keras.metrics.RootMeanSquaredError("rmse")],
        jit_compile=False,  # compiling takes longer than so small a network gains
    )
    batch_size, evaluations = flags["batch_size"], flags["num_evals"]
    steps = max(1, flags["num_examples_to_train_on"] // (batch_size * evaluations))
    own, history = shares(len(train.X), batch_size, replica), []
    for number in range(evaluations):
        for rows in itertools.islice(own, steps):
            model.train_on_batch(train.X[rows], train.y[rows])
        history.append(model.evaluate(*valid, batch_size=4096, verbose=0, return_dict=True)["rmse"])
        report(history[-1], number)
    examples = evaluations * steps * batch_size // replica.size
    return model, {"val_rmse": history[-1], "history": history, "examples": examples}


def to_bytes(model: keras.Model) -> bytes:
    """Return the content of a .keras file, without the optimizer, which only training needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        keras.Model(model.inputs, model.outputs).save(path)
        return path.read_bytes()
