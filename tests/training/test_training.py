"""The training itself: the same arithmetic as a plain PyTorch loop, and what the flags promise."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from testing.examples import with_examples
from tests.training.support import (
    SCRIPT,
    as_process,
    save,
    table,
    train,
    trained,
    whole_table,
)
from training import train_nn


def weights(folder: Path) -> dict[str, torch.Tensor]:
    model: dict[str, torch.Tensor] = torch.load(folder / "model.pt", weights_only=True)["model"]
    return model


def history(folder: Path) -> np.ndarray:
    return np.genfromtxt(folder / "history.csv", delimiter=",", names=True)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz")


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """Labels drawn by chance: the validation loss soon rises."""
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 40)
    return save(tmp_path / "noisy.npz", y_train=y, y_val=1 - y[:20])


def plain_loop(X: Any, y: Any, hidden: list[int], epochs: int, batch: int, seed: int) -> Any:
    """The loop of the tutorials: nn.Linear as it comes, torch.optim.Adam, backward()."""
    torch.manual_seed(seed)
    layers: list[torch.nn.Module] = []
    for inputs, outputs in itertools.pairwise([X.shape[1], *hidden, 1]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1]).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    shuffle = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        order = torch.randperm(len(X), generator=shuffle) if batch < len(X) else slice(None)
        X_epoch, y_epoch = X[order], y[order]
        for start in range(0, len(X), batch):
            rows = slice(start, start + batch)
            optimizer.zero_grad()
            torch.nn.functional.binary_cross_entropy(
                torch.sigmoid(model(X_epoch[rows])), y_epoch[rows]
            ).backward()
            optimizer.step()
    return model.state_dict()


@with_examples(60)
@given(
    rows=st.integers(1, 70),
    features=st.integers(1, 9),
    hidden=st.lists(st.integers(1, 20), min_size=1, max_size=3),
    batch=st.integers(1, 80),
    seed=st.integers(0, 5),
)
def test_every_step_is_that_of_the_plain_loop(
    rows: int, features: int, hidden: list[int], batch: int, seed: int
) -> None:
    """In float64: Adam divides by the gradient's own size, so rounding does not stay small."""
    arrays = table(rows, features, seed)
    X, y = (torch.tensor(arrays[name]).double() for name in ("X_train", "y_train"))
    y = y[:, None]
    flags = ("--epochs=4", f"--batch_size={batch}", f"--seed={seed}", "--restore_best=false")
    model = train_nn.build_model(features, hidden, seed).double()
    trained(model, whole_table(X, y), *flags)
    expected = plain_loop(X, y, hidden, epochs=4, batch=batch, seed=seed)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, expected[name], rtol=1e-9, atol=1e-9)


def test_the_same_seed_gives_the_same_model_and_another_seed_another(
    archive: Path, tmp_path: Path
) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(archive, tmp_path / name, "--epochs", 5, "--batch_size", 16, "--seed", seed)
    first, same, other = (weights(tmp_path / name) for name in "abc")
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)


def test_neither_importing_nor_running_touches_the_callers_random_state_or_threads(
    archive: Path, tmp_path: Path
) -> None:
    torch_state, numpy_state = torch.random.get_rng_state(), np.random.get_state()[1]
    torch.set_num_threads(threads := 3)  # neither what the script takes nor what it finds
    train(archive, tmp_path, "--epochs", 2, "--batch_size", 8)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)
    assert torch.get_num_threads() == threads


def test_training_stops_early_and_keeps_the_best_weights(noisy: Path, tmp_path: Path) -> None:
    flags = ["--epochs", 500, "--learning_rate", 0.01, "--patience", 5]
    out = train(noisy, tmp_path, *flags).out
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    losses = history(tmp_path)["val_loss"]
    assert metrics["epochs"]["best"] == losses.argmin() + 1
    assert metrics["epochs"]["last"] == len(losses) == metrics["epochs"]["best"] + 5
    assert metrics["loss"] == pytest.approx(losses.min(), abs=1e-6)
    assert "stopped: no better validation loss for 5 epochs" in out


def test_without_restore_best_the_last_weights_are_kept(noisy: Path, tmp_path: Path) -> None:
    flags = ["--epochs", 60, "--learning_rate", 0.01, "--patience", 0]
    train(noisy, tmp_path, *flags, "--restore_best", "false")
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    losses = history(tmp_path)["val_loss"]
    assert metrics["loss"] == pytest.approx(losses[-1], abs=1e-6)
    assert losses[-1] > losses.min()
    assert metrics["epochs"] == {"last": 60, "best": losses.argmin() + 1, "resumed": []}


def test_a_gain_smaller_than_min_delta_does_not_count(archive: Path, tmp_path: Path) -> None:
    train(archive, tmp_path, "--epochs", 100, "--patience", 3, "--min_delta", 0.5)
    epochs = json.loads((tmp_path / "metrics.json").read_text())["epochs"]
    assert epochs == {"last": 4, "best": 1, "resumed": []}


def test_a_loss_that_is_no_number_ends_the_run_with_advice(tmp_path: Path) -> None:
    archive = save(tmp_path / "data.npz", X_train=table()["X_train"] * 1e30)
    ended = train(archive, tmp_path / "run", "--learning_rate", 1e15)
    assert ended.code == 2
    assert re.search(r"no finite loss in epoch \d+; lower --learning_rate", ended.err)
    assert not list((tmp_path / "run").iterdir())


def test_whole_numbers_may_come_as_tuners_send_them() -> None:
    flags = train_nn.parse_flags(
        ["--train=t", "--val=v", "--epochs=12.0", "--batch_size=64.0", "--hidden=32.0,8"]
    )
    assert (flags.epochs, flags.batch_size, flags.hidden) == (12, 64, [32, 8])
    assert all(isinstance(value, int) for value in (flags.epochs, *flags.hidden))


def test_a_seed_is_taken_to_the_last_digit() -> None:
    assert train_nn.parse_flags(["--train=t", "--val=v", f"--seed={2**53 - 1}"]).seed == 2**53 - 1


@pytest.mark.parametrize(
    ("rows", "cores", "threads"),
    [(1, 8, 1), (4096, 8, 1), (8192, 8, 2), (8192, 1, 1), (10**6, 8, 8)],
)
def test_small_steps_are_done_on_one_thread_and_large_ones_on_more(
    rows: int, cores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: cores)
    assert train_nn.choose_threads(rows, weights=2625) == threads


def test_a_run_imports_no_more_than_it_must(archive: Path, tmp_path: Path) -> None:
    code = (
        "import runpy, sys\n"
        "sys.argv = ['train_nn.py', *sys.argv[1:]]\n"
        f"try: runpy.run_path({str(SCRIPT)!r}, run_name='__main__')\n"
        "except SystemExit as leaving: assert not leaving.code, leaving.code\n"
        "unneeded = {'pandas', 'sklearn', 'lesson', 'hypertune', 'tensorboard'}\n"
        "print(sorted(({'torch'} | unneeded) & set(sys.modules)))\n"
    )
    flags = ("--train", archive, "--val", archive, "--epochs", 2, "--model_dir", tmp_path)
    command = [sys.executable, "-c", code, *map(str, flags)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['torch']"


def test_a_run_as_a_process_and_one_inside_a_notebook_give_the_same_model(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--train", archive, "--val", archive, "--epochs", 5)
    assert as_process(*flags, "--model_dir", tmp_path / "process").code == 0
    train(archive, tmp_path / "inside", "--epochs", 5)
    first, second = weights(tmp_path / "process"), weights(tmp_path / "inside")
    assert all(torch.equal(first[name], second[name]) for name in first)
