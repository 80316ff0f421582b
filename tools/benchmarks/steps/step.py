"""Rows per second of training, by one trainer in a process of its own.

`python -m tools.benchmarks.steps.step TRAINER BATCH` prints one number: the rows per second (median
over epochs) of a 7-64-32-1 network with ReLU and Adam on ROWS random rows, shuffled in each epoch.
TRAINER is train_nn, scikit-learn or lightning; each with its own default number of threads. The
trainer `matmul` ignores BATCH and prints this machine's float32 operations per second instead,
one core multiplying 1,024 x 1,024 matrices. `lightning BATCH gpu` trains on an NVIDIA GPU.
"""

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from testing.measure import as_table, output, ratio, say, take_turns
from tools.benchmarks.script import operations_per_row

ROWS = 65_536
EPOCHS = 5
HIDDEN = (64, 32)
BATCHES = (64, 200, 1024, 16_384)
COLUMNS = (
    "batch",
    "train_nn.py",
    "scikit-learn",
    "Lightning",
    "times scikit-learn (goal 1.5)",
    "times Lightning (goal 4)",
    "of one core's matrix product (goal 40 % from 1,024)",
)


def table() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    X = random.standard_normal((ROWS, 7), dtype=np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.float32)


def median_rate(epoch: Callable[[], object]) -> float:
    """Return the rows per second of the median epoch; the first one is not counted."""
    epoch()
    seconds = []
    for _ in range(EPOCHS):
        begun = time.perf_counter()
        epoch()
        seconds.append(time.perf_counter() - begun)
    return ROWS / statistics.median(seconds)


def train_nn(batch: int) -> float:
    """Time this project's script: one epoch is train_one_epoch(), with its shuffle."""
    import torch

    from tools.benchmarks.steps import epochs

    X, y = (torch.from_numpy(array) for array in table())
    training = epochs.ready_to_train(epochs.table_of(X, y[:, None]), HIDDEN, batch)
    return median_rate(partial(epochs.train_one_epoch, training))


def scikit_learn(batch: int) -> float:
    """MLPClassifier: what more epochs add to the time of fit(), without fit()'s own start."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = table()

    def seconds(epochs: int) -> float:
        model = MLPClassifier(HIDDEN, batch_size=batch, max_iter=epochs, tol=0.0, random_state=0)
        begun = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - begun

    seconds(1)
    return ROWS * EPOCHS / (seconds(1 + EPOCHS) - seconds(1))


def lightning(batch: int, accelerator: str = "cpu") -> float:
    """Time a LightningModule with a shuffling DataLoader, all extras of the Trainer off."""
    import logging

    import torch
    from lightning import LightningModule, Trainer
    from torch.nn.functional import binary_cross_entropy_with_logits
    from torch.utils.data import DataLoader, TensorDataset

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    seconds: list[float] = []

    class Network(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            first, second = HIDDEN
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(7, first),
                torch.nn.ReLU(),
                torch.nn.Linear(first, second),
                torch.nn.ReLU(),
                torch.nn.Linear(second, 1),
            )

        def training_step(self, rows: Any) -> Any:
            X, y = rows
            return binary_cross_entropy_with_logits(self.layers(X), y)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=0.001)

        def on_train_epoch_start(self) -> None:
            self.begun = time.perf_counter()

        def on_train_epoch_end(self) -> None:
            if accelerator == "gpu":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - self.begun)

    X, y = (torch.from_numpy(array) for array in table())
    loader = DataLoader(TensorDataset(X, y[:, None]), batch_size=batch, shuffle=True)
    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar"), False)
    trainer = Trainer(
        max_epochs=3, accelerator=accelerator, devices=1, enable_model_summary=False, **off
    )
    trainer.fit(Network(), loader)
    return ROWS / statistics.median(seconds[1:])


def matmul(_: int) -> float:
    """Return the float32 operations per second of one core."""
    import torch

    torch.set_num_threads(1)
    left, right = torch.randn(1024, 1024), torch.randn(1024, 1024)
    return median_rate(lambda: [torch.mm(left, right) for _ in range(10)]) / ROWS * 10 * 2 * 1024**3


def rate(trainer: str, batch: int) -> float:
    """Return the rows per second of one trainer.

    For `matmul`, return the operations per second of this machine.
    """
    return float(output("-m", "tools.benchmarks.steps.step", trainer, str(batch)))


def section() -> str:
    """Measure the training step's rows per second against others and the machine."""
    trainers = ("train_nn", "scikit-learn", "lightning")
    lines = []
    for batch in BATCHES:
        say(f"training step: batch {batch}, {', '.join(trainers)} and matmul take turns ...")
        measures = {name: partial(rate, name, batch) for name in (*trainers, "matmul")}
        rates = take_turns(measures, 3)
        ours = rates["train_nn"]
        of_peak = [
            100 * operations_per_row(HIDDEN) * rows / peak
            for rows, peak in zip(ours, rates["matmul"], strict=True)
        ]
        cells = [f"{statistics.median(rates[name]) / 1000:,.0f}" for name in trainers]
        cells += [f"**{ratio(ours, rates[name]):.1f}**" for name in trainers[1:]]
        lines.append([f"{batch:,}", *cells, f"{statistics.median(of_peak):.0f} %"])
    return (
        "### The training step: thousand rows per second, 7-64-32-1, Adam\n\n"
        f"{as_table(COLUMNS, lines)}"
    )


if __name__ == "__main__":
    trainers = {
        "train_nn": train_nn,
        "scikit-learn": scikit_learn,
        "lightning": lightning,
        "matmul": matmul,
    }
    _, trainer, batch, *accelerator = sys.argv
    print(trainers[trainer](int(batch), *accelerator))
