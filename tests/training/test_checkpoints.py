"""A run that ends before its time resumes later, and ends as if nothing had been."""

from __future__ import annotations

import random
import re
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from local_cloud import Status
from testing.examples import with_examples
from tests.training.checkpoints import (
    checkpoint,
    dies,
    epochs_in,
    has_saved_more_than,
    is_half_written,
    metrics,
    same,
    saved_epochs,
    state_in,
)
from tests.training.pool import Pool, instead, train_as, weights_of
from tests.training.support import (
    FOR_LONG,
    Ended,
    as_process,
    as_replicas,
    save,
    table,
    train,
    wait_until,
)
from training import train_nn

RESTART = 134


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


# ---- resume -------------------------------------------------------------------------------------
@with_examples(25)
@given(data=st.data(), every=st.integers(1, 4), batch=st.sampled_from([0, 16, 41]))
def test_a_run_that_dies_in_any_step_resumes_from_its_last_checkpoint_to_the_same_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, every: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("run")
    archive = save(folder / "data.npz", **table(41))
    flags = ("--epochs", 8, "--batch_size", batch, "--hidden", "5,4")
    steps = -(-41 // (batch or 41))
    train(archive, folder / "undisturbed", *flags)
    flags += ("--checkpoint_every", every)
    kept, resumed = 0, []  # the epochs that the newest checkpoint holds, and where runs resumed
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


def test_five_kills_in_one_training_leave_no_trace_in_the_model(
    archive: Path, tmp_path: Path
) -> None:
    """Kills of several replicas are in test_losses.py."""
    flags = ("--epochs", 300, "--patience", 0, "--batch_size", 16, "--hidden", "200,200")
    train(archive, tmp_path / "undisturbed", *flags)
    flags += ("--checkpoint_every", 1)
    run = tmp_path / "run"
    for life in range(5):
        before = saved_epochs(run)
        with as_replicas(1, archive, run, *flags) as running:
            wait_until(partial(has_saved_more_than, before + random.randrange(9), run))
            if life % 2:  # between writing a file and giving it its name
                wait_until(partial(is_half_written, run))
            running.processes[0].kill()
            assert running.codes() == [-signal.SIGKILL]
    with as_replicas(1, archive, run, *flags) as running:
        assert running.codes() == [0]
    same(run, tmp_path / "undisturbed")
    assert len(metrics(run)["epochs"]["resumed"]) == 5
    assert not (run / "checkpoints").exists()  # what was half written is gone, too


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
    for step in (ends["best"] - 1, 4, 3):  # before the best epoch, and twice while nothing is won
        dies(step, noisy, tmp_path / "run", *flags)
    assert train(noisy, tmp_path / "run", *flags).code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")


def test_a_smaller_patience_ends_a_run_that_resumes_beyond_it(noisy: Path, tmp_path: Path) -> None:
    flags = ("--checkpoint_every", 1)
    dies(26, noisy, tmp_path, *flags)
    assert train(noisy, tmp_path, *flags, "--patience", 2).code == 0
    epochs = metrics(tmp_path)["epochs"]
    assert epochs["best"] + 2 < epochs["last"] == 25


def test_more_epochs_than_at_first_may_be_asked_for_and_not_fewer(
    archive: Path, tmp_path: Path
) -> None:
    train(archive, tmp_path / "undisturbed", "--epochs", 12)
    flags = ("--checkpoint_every", 2)
    dies(5, archive, tmp_path / "run", "--epochs", 5, *flags)
    refused = train(archive, tmp_path / "run", "--epochs", 3, *flags)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "its checkpoint is beyond --epochs 3; name more, or another folder" in refused.err
    assert train(archive, tmp_path / "run", "--epochs", 12, *flags).code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")


def test_both_lives_are_told(archive: Path, tmp_path: Path) -> None:
    flags = ("--epochs", 100, "--checkpoint_every", 9)
    dies(55, archive, tmp_path, *flags)
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


# ---- what is in the folder ----------------------------------------------------------------------
def test_the_newest_one_is_kept_and_loads_without_running_code(
    archive: Path, tmp_path: Path
) -> None:
    dies(41, archive, tmp_path, "--epochs", 9, "--batch_size", 10, "--checkpoint_every", 2)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["checkpoint.pt"]
    assert epochs_in(checkpoint(tmp_path)) == 8  # of five steps each
    state = state_in(checkpoint(tmp_path))
    assert {name: value.shape for name, value in state["model"].items()} == {
        "0.weight": (64, 7), "0.bias": (64,), "2.weight": (32, 64), "2.bias": (32,),
        "4.weight": (1, 32), "4.bias": (1,),
    }  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "data.npz"]


def test_without_the_flag_there_are_none(archive: Path, tmp_path: Path) -> None:
    with as_replicas(1, archive, tmp_path / "run", *FOR_LONG) as running:
        wait_until(lambda: len(running.said(0)) > 1)
        running.processes[0].terminate()
        assert running.codes() == [-signal.SIGTERM]
    assert not checkpoint(tmp_path / "run").exists()


def test_a_finished_run_leaves_none_and_the_next_one_begins_anew(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 7, "--checkpoint_every", 2)
    for _ in range(2):
        assert train(archive, tmp_path / "run", *flags).code == 0
        assert not (tmp_path / "run/checkpoints").exists()
        assert metrics(tmp_path / "run")["epochs"]["resumed"] == []
        assert "resumes" not in (tmp_path / "run/training.log").read_text()


def test_what_dies_between_writing_the_model_and_deleting_the_checkpoints_ends_the_same(
    archive: Path, tmp_path: Path
) -> None:
    flags = ("--epochs", 7, "--checkpoint_every", 2)
    train(archive, tmp_path / "undisturbed", *flags)

    def killed(_: object) -> None:
        raise SystemExit(137)

    with instead(delete_checkpoint=killed):
        assert train(archive, tmp_path / "run", *flags).code == 137
    assert (tmp_path / "run/metrics.json").exists() and checkpoint(tmp_path / "run").exists()
    assert train(archive, tmp_path / "run", *flags).code == 0
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert not checkpoint(tmp_path / "run").exists()


def test_a_folder_that_the_user_named_stays(archive: Path, tmp_path: Path) -> None:
    named, flags = tmp_path / "kept/here", ("--epochs", 3, "--checkpoint_every", 1)
    named.mkdir(parents=True)
    assert train(archive, tmp_path / "run", *flags, "--checkpoint_dir", named).code == 0
    assert list(named.iterdir()) == []


def test_the_files_of_others_stay_and_what_was_half_written_goes(
    archive: Path, tmp_path: Path
) -> None:
    folder, flags = tmp_path / "run/checkpoints", ("--epochs", 6, "--checkpoint_every", 2)
    folder.mkdir(parents=True)
    for name in ("notes.txt", "checkpoint-2.pt", "checkpoint"):
        (folder / name).write_text("mine")
    (folder / "checkpoint.pt.part").write_bytes(b"PK")
    dies(3, archive, tmp_path / "run", *flags)
    assert train(archive, tmp_path / "run", *flags).code == 0
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [3]
    assert {path.read_text() for path in folder.iterdir()} == {"mine"}
    assert len(list(folder.iterdir())) == 3


# ---- where they are -----------------------------------------------------------------------------
def test_they_are_where_is_asked_else_where_the_service_keeps_them_else_with_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(*flags: str) -> str:
        given = train_nn.parse_flags(["--train=t", "--val=v", "--checkpoint_every=1", *flags])
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


def test_the_services_folder_is_used_and_stays(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (folder / "checkpoint.pt").write_text("not one")
    flags = ("--train", archive, "--val", archive, "--epochs", 3, "--checkpoint_every", 1)
    environment = {"SM_MODEL_DIR": str(tmp_path / "model")}
    assert f"--checkpoint_dir {folder}: " in as_process(*flags, **environment).err
    (folder / "checkpoint.pt").unlink()
    assert as_process(*flags, **environment).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoints", "data.npz", "model"]


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_checkpoints_in_a_bucket(archive: Path, tmp_path: Path, cloud: Status, scheme: str) -> None:
    from tests.training.test_buckets import Amazon, Google

    bucket: Any = {"gs": Google, "s3": Amazon}[scheme]()
    bucket.put("kept/here/notes.txt", b"mine")
    flags = ("--epochs", 9, "--batch_size", 10)
    train(archive, tmp_path / "undisturbed", *flags)
    flags += ("--checkpoint_every", 2, "--checkpoint_dir", f"{bucket.address}/kept/here/")
    dies(41, archive, tmp_path / "run", *flags)
    assert bucket.times().keys() == {"kept/here/checkpoint.pt", "kept/here/notes.txt"}
    ended = train(archive, tmp_path / "run", *flags)
    assert ended.code == 0, ended
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [9]
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert bucket.times().keys() == {"kept/here/notes.txt"}
    bucket.close()


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_a_bucket_that_is_not_there_is_refused_before_the_training(
    archive: Path, tmp_path: Path, cloud: Status, scheme: str
) -> None:
    folder = f"{scheme}://there-is-no-such-bucket/kept"
    flags = ("--checkpoint_every", 1, "--checkpoint_dir", folder)
    ended = train(archive, tmp_path / "run", *flags)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"--checkpoint_dir {folder}: " in ended.err and "name another folder" in ended.err
    assert "epoch " not in ended.out


# ---- several replicas ---------------------------------------------------------------------------
def flags_for(archive: Path, folder: Path, *flags: Any) -> tuple[Any, ...]:
    return ("--train", archive, "--val", archive, "--model_dir", folder, "--hidden", "8,6", *flags)


def codes(ended: list[Ended]) -> set[int]:
    return {each.code for each in ended}


@pytest.mark.parametrize("parallelism", ["data", "model"])
@pytest.mark.parametrize("batch", [0, 10])
def test_when_one_replica_is_lost_all_end_and_resume_to_the_same_model(
    pool: Pool, archive: Path, tmp_path: Path, batch: int, parallelism: str
) -> None:
    def flags(name: str, *more: Any) -> tuple[Any, ...]:
        common = ("--epochs", 6, "--batch_size", batch, "--parallelism", parallelism)
        return flags_for(archive, tmp_path / name, *common, *more)

    assert codes(pool.run(2, train_as, flags("undisturbed"))) == {0}
    kept = flags("run", "--checkpoint_every", 2)
    steps = -(-41 // (batch or 41))
    for epoch in (3, 1, 3):  # of each life
        ended = pool.run(2, train_as, kept, False, epoch * steps)
        assert codes(ended) == {RESTART}
        assert [each.err for each in ended] == [
            "train_nn.py: another replica ended or cannot be reached; started again, it resumes "
            "from its checkpoint\n"
        ] * 2
    assert codes(pool.run(2, train_as, kept)) == {0}
    same(tmp_path / "run", tmp_path / "undisturbed")
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [3, 5]
    assert not (tmp_path / "run/checkpoints").exists()


@with_examples(8)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 5]), min_size=2, max_size=3),
    rows=st.integers(1, 41),
    batch=st.just(0) | st.integers(17, 120),
)
def test_another_number_of_replicas_resumes_to_the_model_of_one(
    pool: Pool,
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    rows: int,
    batch: int,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    archive = save(folder / "data.npz", **table(rows))
    size = -(-rows * batch // 100)
    steps = -(-rows // (size or rows))
    common = ("--epochs", 4, "--batch_size", size)
    one = pool.run(1, train_as, flags_for(archive, folder / "one", *common), True)
    kept = flags_for(archive, folder / "run", *common, "--checkpoint_every", 1)
    for replicas in sizes[:-1]:
        assert codes(pool.run(replicas, train_as, kept, True, steps + 1)) == {RESTART}
    assert codes([*one, *pool.run(sizes[-1], train_as, kept, True)]) == {0}
    assert len(metrics(folder / "run")["epochs"]["resumed"]) == len(sizes) - 1
    weights = weights_of(folder / "run"), weights_of(folder / "one")
    torch.testing.assert_close(*weights, rtol=0, atol=1e-9)


def test_a_checkpoint_holds_whole_layers_which_any_replicas_may_share_or_not(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    common = ("--epochs", 5, "--batch_size", 16)
    one = pool.run(1, train_as, flags_for(archive, tmp_path / "one", *common), True)
    kept = flags_for(archive, tmp_path / "run", *common, "--checkpoint_every", 1)
    for replicas, parallelism in ((2, "model"), (1, "data"), (2, "data"), (1, "model")):
        flags = (*kept, "--parallelism", parallelism)
        assert codes(pool.run(replicas, train_as, flags, True, 4)) == {RESTART}
    last = pool.run(2, train_as, (*kept, "--parallelism", "model"), True)
    assert codes([*one, *last]) == {0}
    assert metrics(tmp_path / "run")["epochs"]["resumed"] == [2, 3, 4, 5]
    weights = weights_of(tmp_path / "run"), weights_of(tmp_path / "one")
    torch.testing.assert_close(*weights, rtol=0, atol=1e-9)
