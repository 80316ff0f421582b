"""Trained models on disk, and what happens when the process that trains is ended."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.ml import options
from local_cloud.google.bigquery.ml.store import Models

LINE = options.check_options({"model_type": "linear_reg", "input_label_cols": ["y"]})
ENDLESS = options.check_options(
    {
        "model_type": "dnn_regressor",
        "input_label_cols": ["y"],
        "hidden_units": [4096, 4096],
        "max_iterations": 10_000,
        "early_stop": False,
    }
)


def write(path: Path) -> None:
    """y = 3 x + 1."""
    x = np.arange(200.0)
    table = pa.table({"x": x, "y": 3 * x + 1})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def nothing() -> None:
    """The query is not cancelled."""


@pytest.fixture
def models(tmp_path: Path) -> Iterator[Models]:
    """In a folder of their own."""
    models = Models(tmp_path / "models")
    yield models
    models.close()


def test_a_model_is_numbers_that_the_next_server_reads(models: Models) -> None:
    name = models.train(LINE, write, nothing)
    assert sorted(path.name for path in (models.folder / name).iterdir()) == [
        "arrays.npz",
        "model.json",
    ]
    later = Models(models.folder)
    (models.folder / "new-half").mkdir()
    (models.folder / "dropped").mkdir()
    later.sweep(lambda: {name})
    assert [path.name for path in models.folder.iterdir()] == [name]
    table = pa.table({"x": [0.0, 10.0]})
    assert later.load(name).score(table, nothing) == pytest.approx([1, 31])
    later.remove(name)
    assert not list(models.folder.iterdir())


def test_an_array_that_is_a_pickle_is_not_read(models: Models) -> None:
    name = models.train(LINE, write, nothing)
    np.savez(models.folder / name / "arrays.npz", coefficients=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        Models(models.folder).load(name)


def test_a_training_that_is_killed_fails_and_the_next_works(models: Models) -> None:
    started = threading.Event()

    def kill() -> None:
        """In place of the look whether the query was cancelled."""
        process = models._worker._process
        if process and not started.is_set():
            started.set()
            os.kill(process.pid, signal.SIGKILL)

    with pytest.raises(Problem, match="ended by signal 9"):
        models.train(ENDLESS, write, kill)
    assert not list(models.folder.iterdir()), "nothing is left of it"
    assert models.train(LINE, write, nothing)


def test_a_cancelled_training_ends_its_process(models: Models) -> None:
    processes = []

    def cancel() -> None:
        processes.append(models._worker._process)
        raise Problem(499, "stopped", "cancelled")

    with pytest.raises(Problem, match="cancelled"):
        models.train(ENDLESS, write, cancel)
    (process,) = processes
    assert process is not None
    assert process.returncode == -signal.SIGKILL


def test_the_process_ends_with_the_server(models: Models) -> None:
    """Its standard input closes, which a kill -9 of the server does, too."""
    models.train(LINE, write, nothing)
    process = models._worker._process
    assert process is not None and process.stdin is not None
    process.stdin.close()
    assert process.wait(30) == 0


def test_a_process_that_has_ended_is_started_again(models: Models) -> None:
    """It ends by itself when it is idle."""
    models.train(LINE, write, nothing)
    process = models._worker._process
    assert process is not None
    process.kill()
    process.wait()
    assert models.train(LINE, write, nothing)
