"""Bad input: one sentence, exit code 2, no traceback, no model."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from testing.examples import with_examples
from tests.training.support import Ended, as_process, inside, save, table, train
from training import train_nn

X, Y = table()["X_train"], table()["y_train"]


def is_refused(ended: Ended, folder: Path, *words: str) -> None:
    assert ended.code == 2, ended
    assert ended.err.startswith("train_nn.py: ") and ended.err.count("\n") == 1, ended.err
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err, f"{word!r} not in {ended.err!r}"
    assert not list(folder.rglob("model.pt*"))


def without(name: str) -> dict[str, Any]:
    return {name: None}


def with_value(value: float) -> np.ndarray:
    changed = X.copy()
    changed[3, 2] = value
    return changed


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (without("X_train"), ["there is no array X_train", "savez"]),
        (without("y_train"), ["there is no array y_train", "savez"]),
        ({"X_train": X[:, 0]}, ["X_train has shape (40,)", "(rows, features)"]),
        ({"X_train": X[None]}, ["X_train has shape (1, 40, 7)"]),
        ({"X_train": X[:0], "y_train": Y[:0]}, ["X_train has shape (0, 7)"]),
        ({"X_train": X[:, :0]}, ["X_train has shape (40, 0)"]),
        ({"y_train": Y[:-1]}, ["y_train has shape (39,)", "each of 40 rows"]),
        ({"y_train": np.stack([Y, Y], 1)}, ["y_train has shape (40, 2)"]),
        ({"y_train": np.float64(1)}, ["y_train has shape ()"]),
        (
            {"X_train": with_value(np.nan)},
            ["1 missing or infinite values", "row 3, column 2", "fill in"],
        ),
        ({"X_train": with_value(np.inf)}, ["1 missing or infinite values"]),
        ({"X_train": with_value(1e300)}, ["1 missing or infinite"]),
        ({"y_train": Y + 1}, ["labels other than 0, 1", "set LABELS", "to () to predict numbers"]),
        ({"y_train": np.where(Y, 0.5, 0)}, ["labels other than 0"]),
        ({"y_train": np.where(Y, np.nan, 0)}, ["labels other than 0"]),
        ({"X_train": X.astype(str)}, ["cast", "dtype('<U", "give an npz archive of numbers"]),
        ({"X_train": X.astype(complex)}, ["cast", "dtype('complex128')"]),
        ({"y_train": np.array(["yes", "no"] * 20)}, ["y_train holds words", "set LABELS"]),
        (
            {"X_train": X.astype(object)},
            ["Object arrays cannot be loaded", "an npz archive of numbers"],
        ),
        ({"X_val": X[:20, :6]}, ["--train has 7 features, --val 6", "prepare both alike"]),
        ({"y_val": Y[:5]}, ["y_val has shape (5,)"]),
        ({"preparation": np.arange(9)}, ["preparation is not text"]),
        ({"preparation": b"{}"}, ["preparation is not text"]),
    ],
)
def test_an_array_that_cannot_be_trained_on(
    tmp_path: Path, changes: dict[str, Any], words: list[str]
) -> None:
    archive = save(tmp_path / "data.npz", **changes)
    is_refused(train(archive, tmp_path), tmp_path, *words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (without("y_train"), ["no array y_train", "savez"]),
        ({"X_train": X[:0], "y_train": Y[:0]}, ["X_train has shape (0, 7)"]),
        ({"y_train": Y[:-1]}, ["y_train has shape (39,)", "each of 40 rows"]),
        ({"X_train": with_value(1e300)}, ["1 missing or infinite", "row 3, column 2", "fill in"]),
        ({"y_train": np.where(Y, np.nan, 0)}, ["labels other than 0"]),
        ({"X_train": X.astype(str)}, ["X_train holds <U", "encode it as numbers"]),
        ({"X_train": X.astype(object)}, ["X_train holds text or mixed columns", "plain arrays"]),
        ({"preparation": np.arange(9)}, ["preparation is not text"]),
    ],
)
def test_an_array_among_several_archives_that_cannot_be_trained_on(
    tmp_path: Path, changes: dict[str, Any], words: list[str]
) -> None:
    (tmp_path / "shards").mkdir()
    save(tmp_path / "shards/a.npz")
    bad = save(tmp_path / "shards/b.npz", **changes)
    is_refused(train(bad.parent, tmp_path), tmp_path, f"--train {bad.parent}: {bad}: ", *words)


def test_tables_that_were_prepared_differently(tmp_path: Path) -> None:
    one, same = (
        save(tmp_path / name, preparation='{"age": 30}') for name in ("one.npz", "same.npz")
    )
    other = save(tmp_path / "other.npz", preparation='{"age": 31}')
    none = save(tmp_path / "none.npz")
    words = f"--val {other}: its preparation is not that of --train; prepare both alike"
    is_refused(inside("--train", one, "--val", other, "--model_dir", tmp_path), tmp_path, words)
    for val in (same, none):
        ended = inside("--train", one, "--val", val, "--model_dir", tmp_path / "runs", "--epochs=1")
        assert ended.code == 0, ended


def bare_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, X)


def cut_short(path: Path) -> None:
    save(path)
    path.write_bytes(path.read_bytes()[:-300])


def flipped(path: Path) -> None:
    save(path)
    content = bytearray(path.read_bytes())
    for member in zipfile.ZipFile(path).infolist():
        content[member.header_offset + 300] ^= 0xFF  # inside the array: the checksum no longer fits
    path.write_bytes(content)


def other_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("X_train", "not an array")


def promises_too_much(path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**13, 7)}
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("X_train.npy", header.getvalue() + b"\0" * 80)


@pytest.mark.parametrize(
    "make",
    [
        bare_array,
        cut_short,
        flipped,
        other_zip,
        promises_too_much,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("PassengerId,Survived\n1,0\n"),
        lambda path: path.mkdir(),
        lambda path: None,
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
    ],
    ids=[
        "a bare array",
        "cut short",
        "a bit flipped",
        "another zip",
        "a promise of 560 TB",
        "an empty file",
        "a csv table",
        "a folder",
        "no file at all",
        "a named pipe",
        "a link to a device without end",
    ],
)
def test_a_file_that_is_no_whole_archive(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    path = tmp_path / "data.npz"
    make(path)
    good = save(tmp_path / "good.npz")
    run = tmp_path / "run"
    for flags in (("--train", path, "--val", good), ("--train", good, "--val", path)):
        is_refused(inside(*flags, "--model_dir", run), tmp_path, str(path))
    if path.exists():
        flags = ("--train", f"{tmp_path}/*.npz", "--val", good)
        is_refused(inside(*flags, "--model_dir", run), tmp_path, str(path))


def test_a_pickle_in_an_archive_is_never_run(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    archive = save(tmp_path / "data.npz", X_train=np.array([[Trap()]], dtype=object))
    is_refused(train(archive, tmp_path), tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--epochs", "many"], ["--epochs", "whole number from 1 up", "'many'"]),
        (["--epochs", "0"], ["--epochs", "whole number from 1 up"]),
        (["--epochs", "2.5"], ["--epochs", "whole number"]),
        (["--epochs", "inf"], ["--epochs", "whole number"]),
        (["--learning_rate", "-1"], ["--learning_rate", "number from 0 up"]),
        (["--learning_rate", "nan"], ["--learning_rate", "number from 0 up"]),
        (["--seed", str(2**64)], ["--seed", "whole number from 0 up"]),
        (["--seed", "1e300"], ["--seed", "whole number"]),
        (["--hidden", "64,,32"], ["--hidden", "whole number from 1 up"]),
        (["--restore_best", "maybe"], ["--restore_best", "maybe"]),
        (["--batch_size"], ["--batch_size", "expected one argument"]),
        (["--hidden", "64", "32"], ["'32' belongs to no flag"]),
        (["and", "some", "words"], ["'and' belongs to no flag"]),
        (["--parallelism", "both"], ["--parallelism", "both", "data", "model"]),
        (["--checkpoint_every=often"], ["--checkpoint_every", "often", "whole number"]),
        (["--device", "abacus"], ["--device abacus", "torch can use", "cpu"]),
        (["--device", "mps"], ["--device mps", "torch can use"]),
        (["--model_dir", "az://bucket/model"], ["--model_dir", "az:// is unknown", "s3://"]),
        (["--train", "https://host/data.npz"], ["--train", "https:// is unknown", "gs://"]),
    ],
)
def test_a_flag_that_cannot_be_used(tmp_path: Path, flags: list[str], words: list[str]) -> None:
    archive = save(tmp_path / "data.npz")
    ended = inside("--train", archive, "--val", archive, "--model_dir", tmp_path, *flags)
    is_refused(ended, tmp_path, *words)


def test_what_a_flag_takes_arrives_as_it_was_given() -> None:
    edges = ["--learning_rate=0", "--min_delta=0.25", "--epochs=1", "--checkpoint_dir=here"]
    flags = train_nn.parse_flags(["--train=t", "--val=v", *edges])
    assert (flags.learning_rate, flags.min_delta, flags.epochs) == (0, 0.25, 1)
    assert (flags.checkpoint_every, flags.checkpoint_dir) == (0, "here")
    flags = train_nn.parse_flags(["--train=t", "--val=v", *edges, "--checkpoint_every=2"])
    assert (flags.checkpoint_every, flags.checkpoint_dir) == (2, "here")
    assert train_nn.parse_flags(["--train=t", "--val=v"]).checkpoint_dir is None


def test_the_beginning_of_a_flags_name_is_not_that_flag() -> None:
    flags = train_nn.parse_flags(["--train=t", "--val=t", "--epoch=3"])
    assert (flags.epochs, flags.unknown) == (1000, ["--epoch=3"])


def test_a_table_in_another_format_is_told_what_is_needed(tmp_path: Path) -> None:
    table = tmp_path / "passengers.csv"
    table.write_text("PassengerId,Survived\n1,0\n")
    ended = train(table, tmp_path)
    is_refused(ended, tmp_path, "not a zip file", "numpy.savez")
    assert "pickle" not in ended.err  # numpy's own advice would be to allow pickles


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    ended = train(tmp_path / ("x" * 300), tmp_path)
    is_refused(ended, tmp_path, "--train", "File name too long", "check the name")


def test_one_damaged_byte_in_the_header_of_a_large_array(tmp_path: Path) -> None:
    """zipfile checks a member's sum when it has read it all: numpy parses the header before."""
    archive = save(tmp_path / "data.npz", X_train=np.zeros((400, 7)), y_train=np.zeros(400))
    whole = archive.read_bytes()
    start = whole.index(b"\x93NUMPY")
    for place in range(start, start + 128):
        content = bytearray(whole)
        content[place] ^= 0x28
        archive.write_bytes(content)
        trains_or_is_refused(archive, tmp_path / str(place))


def test_a_folder_that_cannot_be_written_is_refused_before_the_training(tmp_path: Path) -> None:
    archive = save(tmp_path / "data.npz")
    ended = train(archive, "/proc/none")
    is_refused(ended, tmp_path, "--model_dir /proc/none", "name another folder")
    assert "loss" not in ended.out


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    archive = save(tmp_path / "data.npz")
    is_refused(train(archive, archive / "run"), tmp_path, "data.npz", "name another folder")


def test_the_data_flags_are_needed(tmp_path: Path) -> None:
    is_refused(inside(), tmp_path, "--train", "--val", "required")


def test_a_process_is_refused_like_a_notebook(tmp_path: Path) -> None:
    missing = tmp_path / "missing.npz"
    ended = as_process("--train", missing, "--val", missing, "--model_dir", tmp_path)
    is_refused(ended, tmp_path, str(missing), "No such file", "check the name")
    is_refused(as_process("--epochs", "x"), tmp_path, "--epochs")


def trains_or_is_refused(archive: Path, folder: Path) -> None:
    ended = train(archive, folder, "--epochs", 2)
    if ended.code == 0:
        assert (folder / "model.pt").exists()
        (folder / "model.pt").unlink()
    else:
        is_refused(ended, folder)


shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)


@with_examples(150)
@given(X=hnp.arrays(hnp.scalar_dtypes(), shapes), y=hnp.arrays(hnp.scalar_dtypes(), shapes))
def test_any_arrays_train_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, X: np.ndarray, y: np.ndarray
) -> None:
    folder = tmp_path_factory.mktemp("run")
    archive = save(folder / "data.npz", X_train=X, y_train=y, X_val=X, y_val=y)
    trains_or_is_refused(archive, folder)
    trains_or_is_refused(folder, folder)


@with_examples(100)
@given(
    rows=st.integers(1, 5),
    data=st.data(),
)
def test_any_finite_numbers_with_honest_labels_train(
    tmp_path_factory: pytest.TempPathFactory, rows: int, data: st.DataObject
) -> None:
    elements = st.floats(-1e4, 1e4)
    X = data.draw(hnp.arrays(np.float64, (rows, 3), elements=elements))
    y = data.draw(hnp.arrays(np.int8, rows, elements=st.integers(0, 1)))
    folder = tmp_path_factory.mktemp("run")
    archive = save(folder / "data.npz", X_train=X, y_train=y, X_val=X, y_val=y)
    ended = train(archive, folder, "--epochs", 2)
    assert ended.code == 0, ended.err


@with_examples(150)
@given(data=st.data())
def test_any_damage_to_an_archive_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("run")
    save_as = data.draw(st.sampled_from([np.savez, np.savez_compressed]))
    archive = folder / "data.npz"
    save_as(archive, **table())
    content = bytearray(archive.read_bytes())
    content = content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] = data.draw(st.integers(0, 255))
    archive.write_bytes(content)
    trains_or_is_refused(archive, folder)
    trains_or_is_refused(folder, folder)  # read by its headers
