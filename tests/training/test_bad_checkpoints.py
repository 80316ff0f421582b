"""What is damaged, of another training, or cannot be written, is said and loses no model."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.checkpoints import checkpoint, dies, metrics, same, state_in
from tests.training.pool import in_step, instead
from tests.training.support import (
    save,
    table,
    train,
)


def build_changed_model(features: int, hidden: Sequence[int], seed: int) -> nn.Module:
    """A learner's own network, which has random numbers and buffers."""
    torch.manual_seed(seed)
    width = hidden[0]
    return nn.Sequential(
        nn.Linear(features, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(width, 1),
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


# ---- damage -------------------------------------------------------------------------------------
def flipped(content: bytes) -> bytes:
    """One bit of the weights differs."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [lambda content: content[:-100], lambda _: b"", flipped])
def test_a_checkpoint_that_is_not_whole_is_refused_and_kept(
    archive: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """No kill leaves one, as a file is given its name when it is whole."""
    flags = ("--epochs", 9, "--checkpoint_every", 2)
    dies(5, archive, tmp_path / "run", *flags)
    path = checkpoint(tmp_path / "run")
    content = damage(path.read_bytes())
    path.write_bytes(content)
    ended = train(archive, tmp_path / "run", *flags)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert "; delete it, or name another folder" in ended.err
    assert path.read_bytes() == content


# ---- what is not a checkpoint of this training --------------------------------------------------
def saved(content: object) -> bytes:
    torch.save(content, file := io.BytesIO())
    return file.getvalue()


class Trap:
    """Leaves a trace if somebody unpickles it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.trace,))


@pytest.mark.parametrize(
    "make",
    [
        lambda _: b"notes of mine",
        lambda _: saved({"epoch": 3, "state_dict": {}}),
        lambda folder: saved({"model": Trap(folder / "sprung")}),
        lambda folder: saved(Trap(folder / "sprung")),
    ],
    ids=["a text", "another program's", "a pickle that runs code", "only such a pickle"],
)
def test_another_program_s_file_is_refused_and_kept(
    archive: Path, tmp_path: Path, make: Callable[[Path], bytes]
) -> None:
    folder = tmp_path / "run/checkpoints"
    folder.mkdir(parents=True)
    content = make(tmp_path)
    (folder / "checkpoint.pt").write_bytes(content)
    ended = train(archive, tmp_path / "run", "--epochs", 3, "--checkpoint_every", 1)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert f"--checkpoint_dir {folder}: " in ended.err
    assert "; its checkpoint is not one of this script; delete it, or name another" in ended.err
    assert (folder / "checkpoint.pt").read_bytes() == content
    assert not (tmp_path / "sprung").exists()


def test_what_is_not_even_a_file_is_refused(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run/checkpoints"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "checkpoint.pt")
    ended = train(archive, tmp_path / "run", "--epochs", 3, "--checkpoint_every", 1)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert f"--checkpoint_dir {folder}: it is not a file" in ended.err


@pytest.mark.parametrize(
    "craft",
    [
        lambda _: [],
        lambda _: {},
        lambda state: {"about": state["about"], "history": state["history"]},
        lambda state: state | {"about": 7},
        lambda state: state | {"history": None},
        lambda state: state | {"history": [(1, 2)]},
        lambda state: state | {"model": {"0.weight": torch.zeros(2)}},
        lambda state: state | {"optimizer": {}},
        lambda state: state | {"best": None},
        lambda state: state | {"shuffle": torch.zeros(3)},
        lambda state: {name: state[name] for name in state if name != "log"},
    ],
)
def test_a_checkpoint_of_another_version_is_refused_in_one_sentence(
    archive: Path, tmp_path: Path, craft: Callable[[dict[str, Any]], Any]
) -> None:
    flags = ("--epochs", 9, "--checkpoint_every", 2)
    dies(4, archive, tmp_path / "run", *flags)
    path = checkpoint(tmp_path / "run")
    path.write_bytes(saved(craft(state_in(path))))
    ended = train(archive, tmp_path / "run", *flags)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert "its checkpoint is not one of this script; delete it, or name another" in ended.err


def test_a_checkpoint_that_would_run_code_is_refused(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run/checkpoints"
    folder.mkdir(parents=True)
    (folder / "checkpoint.pt").write_bytes(saved({"history": Trap(tmp_path / "sprung")}))
    ended = train(archive, tmp_path / "run", "--epochs", 3, "--checkpoint_every", 1)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert "its checkpoint is not one of this script" in ended.err
    assert not (tmp_path / "sprung").exists()


def changed_optimizer(weights: Sequence[nn.Parameter], rate: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(weights, lr=rate)


@pytest.mark.parametrize(
    ("flags", "changes", "words"),
    [
        (("--hidden", "8,8"), {}, "hidden is [64, 32] and not [8, 8]"),
        (("--learning_rate", 0.01), {}, "learning_rate is 0.001 and not 0.01"),
        (("--batch_size", 7), {}, "batch_size is 41 and not 7"),
        (("--seed", 5), {}, "seed is 0 and not 5"),
        (("--min_delta", 0.1), {}, "min_delta is 0.0 and not 0.1"),
        (("--precision", "bfloat16"), {}, "precision is float32 and not bfloat16"),
        ((), {"build_optimizer": changed_optimizer}, "optimizer is Adam and not SGD"),
        ((), {"build_model": build_changed_model}, "not one of this script"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_and_kept(
    archive: Path, tmp_path: Path, flags: tuple[Any, ...], changes: dict[str, Any], words: str
) -> None:
    ours = ("--epochs", 9, "--checkpoint_every", 2)
    dies(6, archive, tmp_path / "run", *ours)
    before = checkpoint(tmp_path / "run").read_bytes()
    with instead(**changes):
        ended = train(archive, tmp_path / "run", *ours, *flags)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert f"--checkpoint_dir {tmp_path}/run/checkpoints: " in ended.err and words in ended.err
    if not changes:
        assert "it holds a checkpoint of another training, whose" in ended.err
        assert "; name another, or delete it" in ended.err
    assert checkpoint(tmp_path / "run").read_bytes() == before
    assert train(archive, tmp_path / "run", *ours).code == 0
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [5]


@pytest.mark.parametrize("changed", ["X_train", "y_train", "X_val", "rows", "features"])
def test_a_checkpoint_of_a_training_on_another_table_is_refused(
    archive: Path, tmp_path: Path, changed: str
) -> None:
    ours = ("--epochs", 9, "--checkpoint_every", 2)
    dies(6, archive, tmp_path / "run", *ours)
    arrays = table(41 - (changed == "rows"), 7 - (changed == "features"))
    if changed in arrays:
        arrays[changed] = 1 - arrays[changed]
    ended = train(save(tmp_path / "other.npz", **arrays), tmp_path / "run", *ours)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "holds a checkpoint of another training" in ended.err
    assert checkpoint(tmp_path / "run").exists()


def test_a_table_that_has_only_another_name_is_the_same(archive: Path, tmp_path: Path) -> None:
    ours = ("--epochs", 9, "--checkpoint_every", 2)
    dies(6, archive, tmp_path / "run", *ours)
    assert train(archive.rename(tmp_path / "renamed.npz"), tmp_path / "run", *ours).code == 0
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [5]


# ---- a folder that cannot be written ------------------------------------------------------------
def test_a_folder_that_can_no_longer_be_written_is_said_once_and_the_training_continues(
    archive: Path, tmp_path: Path
) -> None:
    train(archive, tmp_path / "undisturbed", "--epochs", 9)
    folder = tmp_path / "run/checkpoints"

    def block() -> None:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        folder.touch()  # a file in its place: nobody, root included, can write into it

    with instead(add_up_gradients=in_step(3, block)):
        ended = train(archive, tmp_path / "run", "--epochs", 9, "--checkpoint_every", 2)
    first, last = ended.err.splitlines()
    assert first.startswith(f"train_nn.py: no checkpoint, --checkpoint_dir {folder}: ")
    assert last == f"train_nn.py: --checkpoint_dir {folder}: Not a directory"  # to delete some
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert (ended.code, folder.is_file()) == (0, True)


def test_a_full_disk_costs_the_checkpoint_and_leaves_nothing_half_written(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(archive, tmp_path / "undisturbed", "--epochs", 9)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    def fill() -> None:
        monkeypatch.setattr(os, "fsync", full)

    flags = ("--epochs", 9, "--checkpoint_every", 1)
    with (
        instead(add_up_gradients=in_step(3, fill)),
        instead(add_up_gradients=in_step(6, monkeypatch.undo)),
    ):
        ended = train(archive, tmp_path / "run", *flags)
    folder = tmp_path / "run/checkpoints"
    said = f"train_nn.py: no checkpoint, --checkpoint_dir {folder}: No space left on device\n"
    assert (ended.code, ended.err) == (0, said)
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_refused_before_the_training(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--checkpoint_every", 1, "--checkpoint_dir", archive / "checkpoints")
    ended = train(archive, tmp_path / "run", *flags)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"--checkpoint_dir {archive / 'checkpoints'}: Not a directory" in ended.err
    assert "epoch " not in ended.out
