"""A run that ends before its time resumes later, and ends as if nothing had been."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.control import Status
from tests.examples import with_examples
from tests.training.pool import Pool, in_step, instead, sigterm, train_as, weights_of
from tests.training.support import (
    FOR_LONG,
    Ended,
    Replicas,
    as_process,
    as_replicas,
    free_port,
    save,
    table,
    train,
    train_nn,
    wait_until,
)

RESTART = 134


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


def metrics(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text())


def history(folder: Path) -> list[list[str]]:
    """Every epoch's numbers but the seconds, to the last digit."""
    lines = (folder / "history.csv").read_text().splitlines()
    return [line.split(",")[:4] for line in lines]


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints that lie in the model's folder, the newest last."""
    return sorted((folder / "checkpoints").rglob("step-*.pt"))


def stopped(step: int, archive: Path, folder: Path, *flags: Any) -> Ended:
    """Train inside this process, which is sent SIGTERM in this step of the run."""
    with instead(compute_gradients=in_step(step, sigterm)):
        return train(archive, folder, *flags)


def settle() -> None:
    """Until what is being written in the background is there."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


class Died(Exception):
    """Stands for the end of a process that cannot write anything more."""


def dies(step: int, archive: Path, folder: Path, *flags: Any) -> None:
    """Train inside this process and end without a word in this step."""

    def die() -> None:
        settle()
        raise Died

    with instead(compute_gradients=in_step(step, die)), pytest.raises(Died):
        train(archive, folder, *flags)


def same(one: Path, other: Path) -> None:
    """The same model to the last bit, by the same way."""
    assert torch.equal(weights_of(one), weights_of(other))
    assert history(one) == history(other)
    first, second = metrics(one)["epochs"], metrics(other)["epochs"]
    assert first | {"resumed": []} == second | {"resumed": []}


# ---- going on -----------------------------------------------------------------------------------
@with_examples(40)
@given(data=st.data(), rows=st.integers(1, 60), epochs=st.integers(1, 6), every=st.integers(1, 7))
def test_a_run_that_is_asked_to_end_in_any_step_goes_on_to_the_same_model(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    rows: int,
    epochs: int,
    every: int,
) -> None:
    batch = data.draw(st.just(0) | st.integers(-(-rows // 6), rows + 2), label="batch")
    steps = epochs * -(-rows // (batch or rows))
    stops = data.draw(st.lists(st.integers(1, steps), min_size=1, max_size=3), label="steps a life")
    folder = tmp_path_factory.mktemp("run")
    archive = save(folder / "data.npz", **table(rows))
    flags = ("--epochs", epochs, "--batch_size", batch, "--hidden", "5,4")
    train(archive, folder / "undisturbed", *flags)
    flags += ("--checkpoint_every", every)
    done, lives = 0, []
    for step in stops:
        if done + step > steps:
            break
        ended = stopped(step, archive, folder / "run", *flags)
        assert ended.code == RESTART, ended
        done += step
        lives.append(-(-done * (batch or rows) // rows) if batch < rows else done)
    assert train(archive, folder / "run", *flags).code == 0
    same(folder / "run", folder / "undisturbed")
    assert len(metrics(folder / "run")["epochs"]["resumed"]) == len(lives)


@with_examples(25)
@given(data=st.data(), every=st.integers(1, 4), batch=st.sampled_from([0, 16, 41]))
def test_a_run_that_dies_in_any_step_goes_on_from_its_last_checkpoint_to_the_same_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, every: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("run")
    archive = save(folder / "data.npz", **table(41))
    flags = ("--epochs", 8, "--batch_size", batch, "--hidden", "5,4")
    steps = -(-41 // (batch or 41))
    train(archive, folder / "undisturbed", *flags)
    flags += ("--checkpoint_every", every)
    kept, resumed = 0, []  # what the last checkpoint holds: epochs that are done, and taken up
    for _ in range(3):
        step = data.draw(st.integers(1, (8 - kept) * steps), label="step of this life")
        dies(step, archive, folder / "run", *flags)
        done = kept + (step - 1) // steps
        if (saved := done - done % every) > kept:
            resumed += [kept + 1] if kept else []
            kept = saved
    assert train(archive, folder / "run", *flags).code == 0
    same(folder / "run", folder / "undisturbed")
    assert metrics(folder / "run")["epochs"]["resumed"] == resumed + ([kept + 1] if kept else [])


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """Labels drawn by chance, some others for validation: its loss rises after epoch 19 or so."""
    labels = np.random.default_rng(1).integers(0, 2, 40)
    other = np.where(np.arange(20) % 3 == 0, 1 - labels[:20], labels[:20])
    return save(tmp_path / "noisy.npz", y_train=labels, y_val=other)


@pytest.mark.parametrize("restore_best", ["true", "false"])
def test_early_stopping_counts_on_over_all_lives(
    noisy: Path, tmp_path: Path, restore_best: str
) -> None:
    flags = ("--patience", 9, "--restore_best", restore_best)
    train(noisy, tmp_path / "undisturbed", *flags)
    ends = metrics(tmp_path / "undisturbed")["epochs"]
    assert 10 < ends["best"] == ends["last"] - 9 < 50
    flags += ("--checkpoint_every", 1)
    for step in (
        ends["best"] - 1,
        4,
        3,
    ):  # before the best epoch, and twice while nothing is gained
        assert stopped(step, noisy, tmp_path / "run", *flags).code == RESTART
    assert train(noisy, tmp_path / "run", *flags).code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")


def test_a_smaller_patience_ends_a_run_that_goes_on_beyond_it(noisy: Path, tmp_path: Path) -> None:
    flags = ("--checkpoint_every", 1)
    assert stopped(26, noisy, tmp_path, *flags).code == RESTART
    assert train(noisy, tmp_path, *flags, "--patience", 2).code == 0
    epochs = metrics(tmp_path)["epochs"]
    assert epochs["best"] + 2 < 26 == epochs["last"]


def test_more_epochs_than_at_first_may_be_asked_for(archive: Path, tmp_path: Path) -> None:
    train(archive, tmp_path / "undisturbed", "--epochs", 12)
    flags = ("--checkpoint_every", 2)
    stopped(4, archive, tmp_path / "run", "--epochs", 5, *flags)
    assert train(archive, tmp_path / "run", "--epochs", 12, *flags).code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")


def test_both_lives_are_told(archive: Path, tmp_path: Path) -> None:
    flags = ("--epochs", 100, "--checkpoint_every", 10)
    first = stopped(55, archive, tmp_path, *flags)
    assert first.err == (
        "train_nn.py: ended before its time, in epoch 55; started again, it resumes from its "
        "checkpoint\n"
    )
    assert not (tmp_path / "metrics.json").exists()
    second = train(archive, tmp_path, *flags)
    assert "resumes from a checkpoint, in epoch 55" in second.out
    log = (tmp_path / "training.log").read_text()
    told = [int(epoch) for epoch in re.findall(r"^epoch +(\d+)", log, re.MULTILINE)]
    assert told == [1, *range(10, 101, 10)]
    assert (
        log.index("epoch    50") < log.index("resumes from a checkpoint") < log.index("epoch    60")
    )
    assert metrics(tmp_path)["epochs"]["resumed"] == [55]
    seconds = np.genfromtxt(tmp_path / "history.csv", delimiter=",", names=True)["seconds"]
    assert (np.diff(seconds) > 0).all()  # of both lives together, without the time between them


@pytest.mark.parametrize("skip", [1, 2, 3, 4])
def test_the_rest_of_an_epoch_lies_in_memory_as_it_did(archive: Path, skip: int) -> None:
    """Products of matrices round by where their numbers lie: 16, 32 or 64 bytes at a time."""
    data = train_nn.read_table(str(archive), "train", torch.device("cpu"), 0, 1)

    def batches(skip: int) -> list[tuple[int, int]]:
        made = data.batches(10, torch.Generator().manual_seed(0), skip)
        return [(X.data_ptr() % 64, len(X)) for chunks, _ in made for X, _ in chunks]

    assert batches(skip) == batches(0)[skip:]


# ---- what lies there ----------------------------------------------------------------------------
def test_a_checkpoint_loads_without_running_code_and_its_name_tells_its_content(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 9, "--batch_size", 10, "--checkpoint_every", 2)
    dies(5 * 8 + 1, archive, tmp_path, *flags)  # in the ninth epoch, of five steps each
    names = [
        path.relative_to(tmp_path / "checkpoints").as_posix() for path in checkpoints(tmp_path)
    ]
    assert [name[:24] for name in names] == [
        "worker-0/step-000000030-", "worker-0/step-000000040-",
    ]  # fmt: skip
    for path in checkpoints(tmp_path):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert path.stem.endswith(f"-{digest[:16]}")
    state = torch.load(checkpoints(tmp_path)[-1], weights_only=True)
    assert state["epoch"] == 9 and len(state["history"]) == 8
    weights = (7 * 64 + 64 + 64 * 32 + 32 + 32 + 1,)
    assert state["weights"].shape == state["best_weights"].shape == weights
    assert [kept.shape for kept in state["adam"]] == [weights, weights, ()]
    assert {"about", "best_loss", "best_epoch", "shuffle", "log"} <= set(state)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "data.npz"]


def test_without_the_flag_there_are_none_and_sigterm_ends_the_process_as_ever(
    archive: Path, tmp_path: Path
) -> None:
    with as_replicas(1, archive, tmp_path / "run", *FOR_LONG) as running:
        wait_until(lambda: len(running.said(0)) > 1)
        running.processes[0].terminate()
        assert running.codes() == [-signal.SIGTERM]
    assert not checkpoints(tmp_path / "run")


def test_a_finished_run_leaves_none_and_the_next_one_begins_anew(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 7, "--checkpoint_every", 2)
    for _ in range(2):
        assert train(archive, tmp_path / "run", *flags).code == 0
        assert not (tmp_path / "run/checkpoints").exists()
        assert metrics(tmp_path / "run")["epochs"]["resumed"] == []
        assert "resumes" not in (tmp_path / "run/training.log").read_text()


def test_what_dies_between_writing_the_model_and_deleting_the_checkpoints_goes_on_to_the_same(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 7, "--checkpoint_every", 2)
    train(archive, tmp_path / "undisturbed", *flags)

    def die(_: object) -> None:
        raise Died

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Died):
        patch.setattr(train_nn.companion("checkpoints").Checkpoints, "clear", die)
        train(archive, tmp_path / "run", *flags)
    assert (tmp_path / "run/metrics.json").exists() and checkpoints(tmp_path / "run")
    assert train(archive, tmp_path / "run", *flags).code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert not checkpoints(tmp_path / "run")


# ---- damage -------------------------------------------------------------------------------------
def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def test_a_run_that_ends_removes_its_own_folders_and_not_the_one_that_the_user_named(
    archive: Path, tmp_path: Path
) -> None:
    named, flags = tmp_path / "kept/here", ("--epochs", 3, "--checkpoint_every", 1)
    named.mkdir(parents=True)
    assert train(archive, tmp_path / "one", *flags, "--checkpoint_dir", named).code == 0
    assert list(named.iterdir()) == []
    assert train(archive, tmp_path / "two", *flags).code == 0
    assert not (tmp_path / "two/checkpoints").exists()


@pytest.mark.parametrize("damage", [cut, flip, empty, Path.unlink])
@pytest.mark.parametrize("which", [slice(1, 2), slice(0, 1), slice(0, 2)])
def test_of_damaged_checkpoints_the_run_goes_on_from_the_newest_whole_one(
    archive: Path, tmp_path: Path, damage: Callable[[Path], None], which: slice
) -> None:
    flags = ("--epochs", 9, "--batch_size", 10)
    train(archive, tmp_path / "undisturbed", *flags)
    flags += ("--checkpoint_every", 2)
    dies(5 * 8 + 1, archive, tmp_path / "run", *flags)  # checkpoints after epochs 6 and 8
    struck = checkpoints(tmp_path / "run")[which]
    whole = [path for path in checkpoints(tmp_path / "run") if path not in struck]
    for path in struck:
        damage(path)
    ended = train(archive, tmp_path / "run", *flags)
    assert ended.code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")
    last = {0: [], 1: [9 if which.start == 0 else 7]}[len(whole)]
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == last
    said = ended.out + ended.err
    for path in struck:
        assert (f"{path.name} is damaged" in said) == (damage is not Path.unlink)


def saved(content: Any) -> bytes:
    """What a checkpoint with this content would be."""
    torch.save(content, file := io.BytesIO())
    return file.getvalue()


def replaced(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda content: content | changes


@pytest.mark.parametrize(
    "craft",
    [
        lambda _: [],
        lambda _: {},
        lambda content: {"about": content["about"]},
        lambda content: content | {"weights": content["weights"][:-1]},
        lambda content: content | {"adam": [torch.zeros(2, 2) for _ in content["adam"]]},
        lambda content: content | {"best_weights": content["weights"][:-1]},
        *(replaced(about=7), replaced(epoch=-1), replaced(epoch="two"), replaced(epoch=math.inf)),
        *(replaced(history=torch.zeros(2, 3)), replaced(history=None), replaced(log=3)),
        *(replaced(losses=[("one", 2)]), replaced(shuffle=torch.zeros(3)), replaced(resumed=3)),
        *(replaced(resumed=["x"]), replaced(best_loss="small")),
    ],
)
def test_a_checkpoint_that_the_script_did_not_write_is_refused_in_one_sentence(
    archive: Path, tmp_path: Path, craft: Callable[[dict[str, Any]], Any]
) -> None:
    flags = ("--epochs", 9, "--checkpoint_every", 2)
    dies(4, archive, tmp_path / "run", *flags)
    for path in checkpoints(tmp_path / "run"):
        content = saved(craft(torch.load(path, weights_only=True)))
        path.unlink()
        digest = hashlib.sha256(content).hexdigest()[:16]
        path.with_name(f"{path.name[:15]}{digest}.pt").write_bytes(content)
    ended = train(archive, tmp_path / "run", *flags)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert "checkpoint" in ended.err and "another --checkpoint_dir" in ended.err


def test_a_checkpoint_that_would_run_code_is_refused(archive: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    content = saved({"about": Trap()})
    digest = hashlib.sha256(content).hexdigest()[:16]
    folder = tmp_path / "run/checkpoints/worker-0"
    folder.mkdir(parents=True)
    (folder / f"step-000000001-{digest}.pt").write_bytes(content)
    os.mkfifo(folder / f"step-000000002-{digest}.pt")  # is not even looked into
    ended = train(archive, tmp_path / "run", "--epochs", 3, "--checkpoint_every", 2)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended
    assert not (tmp_path / "sprung").exists()


def test_what_a_process_killed_while_writing_leaves_is_no_checkpoint(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 60, "--hidden", "400,400", "--checkpoint_every", 1)
    train(archive, tmp_path / "undisturbed", "--epochs", 60, "--hidden", "400,400")
    folder = tmp_path / "run"
    with as_replicas(1, archive, folder, *flags) as running:
        wait_until(lambda: len(checkpoints(folder)) == 2)
        for _ in range(5):  # it writes most of the time
            running.processes[0].send_signal(signal.SIGSTOP)
            if list((folder / "checkpoints").rglob("*.part")):
                break
            running.processes[0].send_signal(signal.SIGCONT)
            wait_until(lambda: bool(list((folder / "checkpoints").rglob("*.part"))))
        running.processes[0].kill()
        running.codes()
    for path in checkpoints(folder):
        assert path.stem.endswith(hashlib.sha256(path.read_bytes()).hexdigest()[:16])
    assert train(archive, folder, *flags).code == 0
    same(folder, tmp_path / "undisturbed")
    assert not (folder / "checkpoints").exists()  # what was half written is gone, too


def test_a_part_of_a_checkpoint_is_no_checkpoint_and_goes_with_the_others(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 6, "--checkpoint_every", 2)
    dies(5, archive, tmp_path / "run", *flags)
    newest = checkpoints(tmp_path / "run")[-1]
    part = newest.with_name("step-000000006-0123456789abcdef.pt.part")
    part.write_bytes(newest.read_bytes()[:1000])
    assert train(archive, tmp_path / "run", *flags).code == 0
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [5]
    assert not (tmp_path / "run/checkpoints").exists()


def test_what_else_lies_in_the_folder_is_left_alone(archive: Path, tmp_path: Path) -> None:
    own = tmp_path / "run/checkpoints/worker-0"
    own.mkdir(parents=True)
    for name in ("notes.txt", "step-1.pt", "step-000000001-.pt"):
        (own / name).write_text("mine")
    flags = ("--epochs", 6, "--checkpoint_every", 2)
    dies(5, archive, tmp_path / "run", *flags)
    assert train(archive, tmp_path / "run", *flags).code == 0
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [5]
    assert {path.read_text() for path in own.iterdir()} == {"mine"}
    assert len(list(own.iterdir())) == 3


# ---- another training's -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--hidden", "8,8"), "hidden is [64, 32] and not [8, 8]"),
        (("--learning_rate", 0.01), "learning_rate is 0.001 and not 0.01"),
        (("--batch_size", 7), "batch_size is 41 and not 7"),
        (("--seed", 5), "seed is 0 and not 5"),
        (("--min_delta", 0.1), "min_delta is 0.0 and not 0.1"),
        (("--precision", "bfloat16"), "precision is float32 and not bfloat16"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_and_kept(
    archive: Path, tmp_path: Path, flags: tuple[Any, ...], words: str
) -> None:
    ours = ("--epochs", 9, "--checkpoint_every", 2)
    dies(6, archive, tmp_path / "run", *ours)
    before = {path: path.read_bytes() for path in checkpoints(tmp_path / "run")}
    ended = train(archive, tmp_path / "run", *ours, *flags)
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert "holds a checkpoint of another training" in ended.err and words in ended.err
    assert "name another --checkpoint_dir, or delete it" in ended.err
    assert {path: path.read_bytes() for path in checkpoints(tmp_path / "run")} == before
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
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert "holds a checkpoint of another training" in ended.err
    assert len(checkpoints(tmp_path / "run")) == 2


def test_a_table_that_has_only_another_name_is_the_same(archive: Path, tmp_path: Path) -> None:
    ours = ("--epochs", 9, "--checkpoint_every", 2)
    dies(6, archive, tmp_path / "run", *ours)
    assert train(archive.rename(tmp_path / "renamed.npz"), tmp_path / "run", *ours).code == 0
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [5]


# ---- a folder that cannot be written ------------------------------------------------------------
def test_a_folder_that_can_no_longer_be_written_is_said_and_the_training_goes_on(
    archive: Path, tmp_path: Path
) -> None:
    train(archive, tmp_path / "undisturbed", "--epochs", 9)
    folder = tmp_path / "run/checkpoints/worker-0"

    def block() -> None:
        settle()
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        folder.touch()  # a file in its place: nobody, root included, can write into it

    with instead(compute_gradients=in_step(4, block)):
        ended = train(archive, tmp_path / "run", "--epochs", 9, "--checkpoint_every", 2)
    lines = ended.err.splitlines()
    assert len(lines) == 3  # after epochs 4, 6 and 8
    for line in lines:
        assert line.startswith(f"train_nn.py: no checkpoint, --checkpoint_dir {folder}: "), line
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert (ended.code, folder.is_file()) == (0, True)


def test_a_full_disk_costs_the_checkpoint_and_leaves_nothing_half_written(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(archive, tmp_path / "undisturbed", "--epochs", 9)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    def fill() -> None:
        settle()
        monkeypatch.setattr(os, "fsync", full)

    def free() -> None:
        settle()
        monkeypatch.undo()

    flags = ("--epochs", 9, "--checkpoint_every", 1)
    with instead(compute_gradients=in_step(3, fill)), instead(compute_gradients=in_step(6, free)):
        ended = train(archive, tmp_path / "run", *flags)
    assert ended.err.count("No space left on device") == 3
    assert ended.code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert not (tmp_path / "run/checkpoints").exists()


def test_a_folder_that_cannot_be_made_is_refused_before_the_training(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--checkpoint_every", 1, "--checkpoint_dir", archive / "checkpoints")
    ended = train(archive, tmp_path / "run", *flags)
    assert ended.code == 2 and ended.err.count("\n") == 1
    assert f"--checkpoint_dir {archive / 'checkpoints'}" in ended.err
    assert "epoch " not in ended.out


# ---- where they lie -----------------------------------------------------------------------------
def test_they_lie_where_is_asked_else_where_the_service_keeps_them_else_with_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(*flags: str) -> str:
        given = train_nn.parse_flags(["--train=t", "--val=v", *flags])
        train_nn.companion("checkpoints").Checkpoints(given)
        return str(given.checkpoint_dir)

    assert place() == "./checkpoints"
    assert place("--model_dir=gs://bucket/run/") == "gs://bucket/run/checkpoints"
    monkeypatch.setenv("SM_MODEL_DIR", str(tmp_path / "model"))
    assert place() == f"{tmp_path}/model/checkpoints"  # no such folder: the job has none
    (tmp_path / "checkpoints").mkdir()
    assert place() == str(tmp_path / "checkpoints")
    monkeypatch.setenv("AIP_CHECKPOINT_DIR", "gs://bucket/checkpoints/")
    assert place() == "gs://bucket/checkpoints/"
    assert place("--checkpoint_dir=here") == "here"


def test_the_services_folder_is_used(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    (folder / "worker-7").mkdir(parents=True)
    flags = ("--train", archive, "--val", archive, "--epochs", 3, "--checkpoint_every", 1)
    environment = {"SM_MODEL_DIR": str(tmp_path / "model")}
    assert as_process(*flags, **environment).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "data.npz", "model"]


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_checkpoints_in_a_bucket(archive: Path, tmp_path: Path, cloud: Status, scheme: str) -> None:
    from tests.training.test_buckets import Amazon, Google

    bucket: Any = {"gs": Google, "s3": Amazon}[scheme]()
    flags = ("--epochs", 9, "--batch_size", 10)
    train(archive, tmp_path / "undisturbed", *flags)
    flags += ("--checkpoint_every", 2, "--checkpoint_dir", f"{bucket.address}/kept/here/")
    dies(5 * 8 + 1, archive, tmp_path / "run", *flags)
    names = sorted(bucket.times("kept/here/"))
    assert [name[:23] for name in names] == ["worker-0/step-000000030", "worker-0/step-000000040"]
    damaged = bytearray(bucket.get(f"kept/here/{names[1]}"))
    damaged[999] ^= 1
    bucket.put(f"kept/here/{names[1]}", bytes(damaged))
    assert stopped(7, archive, tmp_path / "run", *flags).code == RESTART
    ended = train(archive, tmp_path / "run", *flags)
    assert ended.code == 0, ended
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [7, 8]
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert not bucket.times()
    bucket.close()


# ---- several replicas ---------------------------------------------------------------------------
def flags_for(archive: Path, folder: Path, *flags: Any) -> tuple[Any, ...]:
    return ("--train", archive, "--val", archive, "--model_dir", folder, "--hidden", "8,6", *flags)


def codes(ended: list[Ended]) -> set[int]:
    return {each.code for each in ended}


@pytest.mark.parametrize("parallelism", ["data", "model"])
@pytest.mark.parametrize("batch", [0, 10])
def test_when_one_replica_is_asked_to_end_all_leave_and_go_on_to_the_same_model(
    pool: Pool, archive: Path, tmp_path: Path, parallelism: str, batch: int
) -> None:
    def flags(name: str, *more: Any) -> tuple[Any, ...]:
        common = ("--epochs", 6, "--batch_size", batch, "--parallelism", parallelism)
        return flags_for(archive, tmp_path / name, *common, *more)

    assert codes(pool.run(2, train_as, flags("undisturbed"))) == {0}
    kept = flags("run", "--checkpoint_every", 4)
    for step in (2, 1, 2):  # with batches of 10 rows twice in the middle of an epoch
        assert codes(pool.run(2, train_as, kept, False, step)) == {RESTART}
    replicas = {path.parent.name for path in checkpoints(tmp_path / "run")}
    assert replicas == ({"worker-0"} if parallelism == "data" else {"worker-0", "worker-1"})
    assert codes(pool.run(2, train_as, kept)) == {0}
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert len(metrics(tmp_path / "run")["epochs"]["resumed"]) == 3
    assert not (tmp_path / "run/checkpoints").exists()


@with_examples(8)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 5]), min_size=2, max_size=3),
    rows=st.integers(1, 41),
    batch=st.just(0) | st.integers(17, 120),
    data=st.data(),
)
def test_another_number_of_replicas_goes_on_to_the_model_of_one(
    pool: Pool,
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    rows: int,
    batch: int,
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    archive = save(folder / "data.npz", **table(rows))
    size = -(-rows * batch // 100)
    common = ("--epochs", 4, "--batch_size", size)
    one = train_as(0, 1, flags_for(archive, folder / "one", *common), True)
    kept = flags_for(archive, folder / "run", *common, "--checkpoint_every", 2)
    for replicas in sizes[:-1]:
        step = data.draw(st.integers(1, 2), label="stop in step")
        assert codes(pool.run(replicas, train_as, kept, True, step)) == {RESTART}
    assert codes([one, *pool.run(sizes[-1], train_as, kept, True)]) == {0}
    weights = weights_of(folder / "run"), weights_of(folder / "one")
    torch.testing.assert_close(*weights, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_with_shared_layers_another_number_of_replicas_is_refused_and_nothing_is_lost(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = flags_for(archive, tmp_path / "run", "--epochs", 6, "--checkpoint_every", 2)
    shared = (*flags, "--parallelism", "model")
    assert codes(pool.run(2, train_as, shared, False, 5)) == {RESTART}
    before = {path: path.read_bytes() for path in checkpoints(tmp_path / "run")}
    assert len(before) == 6 - 2
    for size, others in ((4, shared), (1, shared), (2, flags)):
        for ended in pool.run(size, train_as, others):
            assert ended.code == 2 and ended.err.count("\n") == 1
            assert "holds a checkpoint of another training, whose number of replicas" in ended.err
    assert {path: path.read_bytes() for path in checkpoints(tmp_path / "run")} == before
    assert codes(pool.run(2, train_as, shared)) == {0}


def test_rows_shared_out_before_are_no_checkpoint_for_shared_layers(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = flags_for(archive, tmp_path / "run", "--epochs", 6, "--checkpoint_every", 2)
    assert codes(pool.run(2, train_as, flags, False, 5)) == {RESTART}
    assert codes(pool.run(2, train_as, (*flags, "--parallelism", "model"))) == {2}
    assert codes(pool.run(2, train_as, flags)) == {0}
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [5]


@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_with_shared_layers_all_go_on_from_the_newest_that_all_have(
    pool: Pool, archive: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    def flags(name: str, *more: Any) -> tuple[Any, ...]:
        common = ("--epochs", 9, "--parallelism", "model")
        return flags_for(archive, tmp_path / name, *common, *more)

    pool.run(2, train_as, flags("undisturbed"))
    kept = flags("run", "--checkpoint_every", 2)
    pool.run(2, train_as, kept, False, 5)
    damage(checkpoints(tmp_path / "run")[-1])  # worker 1's newest
    assert codes(pool.run(2, train_as, kept, False, 1)) == {RESTART}
    assert codes(pool.run(2, train_as, kept)) == {0}
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [5, 5]


def test_when_a_replica_has_lost_its_part_all_begin_anew_and_keep_checkpoints_again(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    def flags(name: str, *more: Any) -> tuple[Any, ...]:
        common = ("--epochs", 9, "--parallelism", "model")
        return flags_for(archive, tmp_path / name, *common, *more)

    pool.run(2, train_as, flags("undisturbed"))
    kept = flags("run", "--checkpoint_every", 2)
    pool.run(2, train_as, kept, False, 8)
    for path in (tmp_path / "run/checkpoints/worker-1").iterdir():
        path.unlink()
    assert codes(pool.run(2, train_as, kept, False, 3)) == {RESTART}
    assert [path.name[:14] for path in checkpoints(tmp_path / "run")] == [
        "step-000000002", "step-000000003",
    ] * 2  # fmt: skip
    assert codes(pool.run(2, train_as, kept)) == {0}
    same(tmp_path / "run", tmp_path / "undisturbed")


# ---- real processes -----------------------------------------------------------------------------
def by_torchrun(size: int) -> list[dict[str, str]]:
    """The variables of so many replicas that nobody of ours watches over."""
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    return [common | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(size)]


def undisturbed(pool: Pool, size: int, archive: Path, folder: Path, *flags: Any) -> Path:
    """The folder of a run of so many replicas that nothing happens to."""
    assert codes(pool.run(size, train_as, flags_for(archive, folder, *flags))) == {0}
    return folder


LONG = ("--batch_size", 10, "--patience", 0, "--epochs")
KEPT = ("--checkpoint_every", 5)


@pytest.mark.parametrize(
    ("parallelism", "epochs"), [("data", 150), pytest.param("model", 60, marks=pytest.mark.slow)]
)
def test_replicas_that_are_not_watched_over_leave_together_when_one_is_sent_sigterm(
    pool: Pool, archive: Path, tmp_path: Path, parallelism: str, epochs: int
) -> None:
    common = (*LONG, epochs, "--parallelism", parallelism)

    def run() -> Replicas:
        flags = flags_for(archive, tmp_path / "run", *common, *KEPT)
        return Replicas(by_torchrun(2), tmp_path / "logs", *flags)

    with run() as running:
        wait_until(lambda: bool(checkpoints(tmp_path / "run")))
        running.processes[1].terminate()
        assert running.codes() == [RESTART, RESTART], [running.said(0), running.said(1)]
        for rank in (0, 1):
            assert running.said(rank)[-1].startswith("train_nn.py: ended before its time, in epoch")
    with run() as running:
        assert running.codes() == [0, 0], [running.said(0), running.said(1)]
    same(tmp_path / "run", undisturbed(pool, 2, archive, tmp_path / "other", *common))


def test_a_run_of_one_process_is_sent_sigterm_and_goes_on(archive: Path, tmp_path: Path) -> None:
    with as_replicas(1, archive, tmp_path / "run", *LONG, 200, *KEPT) as running:
        wait_until(lambda: bool(checkpoints(tmp_path / "run")))
        running.processes[0].terminate()
        assert running.codes() == [RESTART]
    assert train(archive, tmp_path / "run", *LONG, 200, *KEPT).code == 0
    train(archive, tmp_path / "other", *LONG, 200)
    same(tmp_path / "run", tmp_path / "other")


@pytest.mark.slow
def test_machines_that_are_watched_over_leave_together_when_all_are_sent_sigterm(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    common = (*LONG, 150, "--hidden", "8,6")
    with as_replicas(2, archive, tmp_path / "run", *common, *KEPT) as running:
        wait_until(lambda: bool(checkpoints(tmp_path / "run")))
        for process in running.processes:
            process.terminate()
        assert running.codes() == [RESTART, RESTART], [running.said(0), running.said(1)]
    with as_replicas(2, archive, tmp_path / "run", *common, *KEPT) as running:
        assert running.codes() == [0, 0]
    same(tmp_path / "run", undisturbed(pool, 2, archive, tmp_path / "other", *common))


@pytest.mark.parametrize("where", ["read", "write"])
def test_sigterm_while_an_object_is_on_its_way_is_an_end_to_go_on_from_too(
    archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str
) -> None:
    def stops(*_: object) -> None:
        sigterm()
        raise AssertionError("went on after SIGTERM")

    monkeypatch.setattr(train_nn, "find_object", lambda _: [stops] * 4)
    away = {"read": ("--train", "s3://bucket/data.npz"), "write": ("--model_dir", "s3://bucket/x")}
    flags = ("--epochs", 3, "--checkpoint_every", 1, "--checkpoint_dir", tmp_path / "kept")
    ended = train(archive, tmp_path / "run", *flags, *away[where])
    assert ended.code == RESTART, ended
    assert ended.err == (
        "train_nn.py: ended before its time; started again, it resumes from its checkpoint\n"
    )


@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_sigterm_before_the_training_has_begun_is_an_end_to_go_on_from_too(
    archive: Path, tmp_path: Path, times: int
) -> None:
    """While the first waits for a second that does not come; some send it to each process."""
    with as_replicas(2, archive, tmp_path / "run", *FOR_LONG, *KEPT) as running:
        first, second = running.processes
        second.kill()
        wait_until(lambda: any("waiting for the other" in line for line in running.said(0)))
        (replica,) = subprocess.run(
            ["pgrep", "-P", str(first.pid)], capture_output=True
        ).stdout.split()
        for _ in range(times):
            os.kill(int(replica), signal.SIGTERM)
            first.terminate()
            time.sleep(0.005)
        assert running.codes()[0] == RESTART
        assert "Traceback" not in "\n".join(running.said(0))
