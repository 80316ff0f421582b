"""Tables of one archive or of many shards: whose rows are whose, and in which order they come."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import with_examples
from tests.training.pool import Pool, train_as
from tests.training.support import SCRIPT, as_replicas, inside, save, train_nn

CPU = torch.device("cpu")
big_tables = train_nn.companion("big_tables")


def numbered(rows: int, features: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A table whose first column is the row's number, and whose label says whether it is odd."""
    X = np.repeat(np.arange(rows, dtype=np.float32)[:, None], features, 1)
    return X, (np.arange(rows) % 2).astype(np.float32)


def write_shards(
    folder: Path,
    X: np.ndarray,
    y: np.ndarray,
    cuts: Sequence[int] = (),
    savez: Callable[..., None] = np.savez,
) -> Path:
    """A folder with the rows in shards that are cut at these places."""
    folder.mkdir(parents=True, exist_ok=True)
    ends = [0, *sorted({cut for cut in cuts if 0 < cut < len(X)}), len(X)]
    for index, (first, last) in enumerate(itertools.pairwise(ends)):
        savez(folder / f"{index:03}.npz", X_train=X[first:last], y_train=y[first:last])
    return folder


@contextmanager
def window(numbers: int) -> Iterator[None]:
    """A WINDOW so small that a table of some rows is a large one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(big_tables, "WINDOW", numbers)
        yield


@contextmanager
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def read_by(
    paths: Sequence[Path | str],
    reader: Callable[..., Any] = big_tables.read_table,
    parallelism: str = "data",
) -> list[Any]:
    """The tables of several replicas, each of them a thread that reads a path of its own."""
    together, results = threading.Barrier(len(paths)), [((), "")] * len(paths)
    own = threading.local()

    def exchange(work: Callable[[], Any], about: str = "", advice: str = "") -> list[Any]:
        try:
            results[own.rank] = (work(), "")
        except train_nn.Refused as problem:
            results[own.rank] = ((), f"{about}{problem}")
        together.wait()
        all_of_them = [*results]
        together.wait()
        for _, problem in all_of_them:
            train_nn.require(not problem, problem)
        return [result for result, _ in all_of_them]

    def read(rank: int) -> Any:
        own.rank = rank
        crew = (rank, len(paths)) if parallelism == "data" else (0, 1)
        return reader(str(paths[rank]), "train", CPU, *crew)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(paths)) as threads:
        patch.setattr(train_nn, "exchange", exchange)
        return list(threads.map(read, range(len(paths))))


def read(path: Path | str) -> Any:
    return read_by([path])[0]


def epochs(table: Any, batch: int, seed: int = 0, number: int = 2, skip: int = 0) -> list[Any]:
    """The own rows' numbers in every batch of some epochs, with the size of the batch."""
    shuffle = torch.Generator().manual_seed(seed)
    made = []
    for epoch in range(number):
        for chunks, size in table.batches(batch, shuffle, 0 if epoch else skip):
            pairs = list(chunks)
            assert pairs
            for X, y in pairs:
                assert X.dtype == y.dtype == torch.float32
                assert X.shape == (len(y), table.X.shape[1]) and y.shape == (len(y), 1)
                assert torch.equal(X[:, :1] % 2, y)
                assert X.numel() <= max(big_tables.WINDOW, table.X.shape[1])
            made.append(([int(x) for X, _ in pairs for x in X[:, 0]], size))
    return made


tables = {
    "rows": st.integers(1, 90),
    "features": st.integers(1, 3),
    "cuts": st.lists(st.integers(0, 90), max_size=5),
    "batch": st.integers(0, 95),
    "numbers": st.integers(1, 120),  # in a window: some of these tables are small, others large
    "seed": st.integers(0, 3),
}


@with_examples(150)
@given(**tables, replicas=st.integers(1, 7), savez=st.sampled_from([np.savez, np.savez_compressed]))
@example(rows=3, features=1, cuts=[1], batch=2, numbers=1, seed=0, replicas=7, savez=np.savez)
def test_replicas_and_shards_change_nothing_in_the_batches(
    rows: int, features: int, cuts: list[int], batch: int, numbers: int, seed: int,
    replicas: int, savez: Any,
) -> None:  # fmt: skip
    with new_folder() as folder, window(numbers):
        one = read(write_shards(folder / "one", *numbered(rows, features)))
        shards = write_shards(folder / "shards", *numbered(rows, features), cuts, savez)
        several = read_by([shards] * replicas)
        alone = epochs(one, batch, seed)
        steps = math.ceil(rows / (batch or rows))
        for epoch in (alone[:steps], alone[steps:]):  # every row once in every epoch
            assert sorted(row for own, _ in epoch for row in own) == list(range(rows))
            assert all(len(own) == size == batch for own, size in epoch[:-1])
        together = [epochs(table, batch, seed) for table in several]
        for (all_rows, size), *parts in zip(alone, *together, strict=True):
            assert sorted(row for own, _ in parts for row in own) == sorted(all_rows)
            assert {whole for _, whole in parts} == {size} == {len(all_rows)}


@with_examples(100)
@given(**tables, replicas=st.integers(1, 3), skip=st.integers(0, 99))
def test_an_epoch_that_is_resumed_is_the_rest_of_it(
    rows: int, features: int, cuts: list[int], batch: int, numbers: int, seed: int,
    replicas: int, skip: int,
) -> None:  # fmt: skip
    skip = min(skip, math.ceil(rows / (batch or rows)))
    with new_folder() as folder, window(numbers):
        shards = write_shards(folder, *numbered(rows, features), cuts)
        for table in read_by([shards] * replicas):
            assert epochs(table, batch, seed, skip=skip) == epochs(table, batch, seed)[skip:]


def test_windows_that_are_skipped_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a window that is begun all rows are: batches lie where they would have lain."""
    write_shards(tmp_path, *numbered(100))
    read_rows: list[int] = []
    gather = big_tables.BigTable.gather
    monkeypatch.setattr(
        big_tables.BigTable,
        "gather",
        lambda table, rows: (read_rows.extend(rows), gather(table, rows))[1],
    )
    with window(40):  # which are 20 rows
        epochs(read(tmp_path), 10, number=1, skip=7)
        assert len(read_rows) == 40


def test_a_small_table_is_shuffled_as_a_whole(tmp_path: Path) -> None:
    table = read(write_shards(tmp_path, *numbered(50), cuts=[20]))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(5)).tolist()
    assert [row for own, _ in epochs(table, 8, 5, 1) for row in own] == order
    assert isinstance(table, train_nn.Table)  # shards that follow one another are one part


def test_a_large_table_is_shuffled_far_and_near(tmp_path: Path) -> None:
    with window(1600):  # 1600 rows: 16 pieces of 100 in each window
        table = read(write_shards(tmp_path, *numbered(16_000, 1)))
        first, *_ = [own for own, _ in epochs(table, 400, 0, 1)]
    assert len({row // 100 for row in first}) == 16
    assert min(first) < 4000 and max(first) > 12_000


@given(**tables)
def test_all_own_rows_come_in_order_in_stretches(
    rows: int, features: int, cuts: list[int], batch: int, numbers: int, seed: int
) -> None:
    with new_folder() as folder, window(numbers):
        shards = write_shards(folder, *numbered(rows, features), cuts)
        for rank, table in enumerate(read_by([shards] * 3)):
            own = train_nn.own_rows(rows, rank, 3)
            assert table.own == ([own] if own else [])
            ((chunks, number),) = table.batches()
            assert [int(x) for X, _ in chunks for x in X[:, 0]] == list(own)
            assert number == table.rows == rows


# ---- whose rows are whose -----------------------------------------------------------------------
def hosts(folder: Path, rows: int = 40, cuts: Sequence[int] = (7, 10, 22)) -> list[Path]:
    """The shards of a table given to two hosts in turn, as SageMaker's ShardedByS3Key does."""
    shards = write_shards(folder / "all", *numbered(rows), cuts)
    for index, shard in enumerate(sorted(shards.iterdir())):
        (host := folder / f"host-{index % 2}").mkdir(exist_ok=True)
        shutil.copy(shard, host)
    return [folder / "host-0", folder / "host-0", folder / "host-1", folder / "host-1"]


@pytest.mark.parametrize("numbers", [10**6, 30])
@pytest.mark.parametrize("batch", [0, 6, 25])
def test_hosts_with_shards_of_their_own_train_on_the_whole_table(
    tmp_path: Path, numbers: int, batch: int
) -> None:
    with window(numbers):
        several = read_by(hosts(tmp_path))
        assert [table.own for table in several] == [
            [range(0, 7), range(10, 12)],
            [range(12, 22)],
            [range(7, 10), range(22, 29)],
            [range(29, 40)],
        ]
        one = read(tmp_path / "all")
        assert {table.digest for table in several} == {one.digest}
        together = [epochs(table, batch) for table in several]
        for (rows, _), *parts in zip(epochs(one, batch), *together, strict=True):
            assert sorted(row for own, _ in parts for row in own) == sorted(rows)


def test_files_of_the_same_name_and_other_content_are_refused(tmp_path: Path) -> None:
    for host in ("a", "b"):
        write_shards(tmp_path / host, *numbered(4 if host == "a" else 5))
    with pytest.raises(train_nn.Refused, match=r"not all machines have the same 000\.npz; give "):
        read_by([tmp_path / "a", tmp_path / "b"])
    shutil.copy(tmp_path / "a/000.npz", tmp_path / "b")
    read_by([tmp_path / "a", tmp_path / "b"])
    shutil.copy(tmp_path / "a/000.npz", tmp_path / "b/more.npz")
    with pytest.raises(train_nn.Refused, match="not all machines have the same"):
        read_by([tmp_path / "a", tmp_path / "b"])


def test_replicas_with_an_archive_each_train_on_both(tmp_path: Path) -> None:
    """Also if both hold the same numbers; archives of the same name and content are one."""
    X, y = numbered(10)
    for host, name, rows in (("a", "1", 4), ("b", "2", 10), ("c", "3", 4), ("d", "1", 4)):
        (tmp_path / host).mkdir()
        np.savez(tmp_path / host / name, X_train=X[:rows], y_train=y[:rows])
    a, b, c, d = sorted(tmp_path.glob("?/*.npz"))
    for paths, rows in (([a, b], 14), ([a, c], 8), ([a, d], 4)):
        tables = read_by(paths, train_nn.read_table)
        assert [table.rows for table in tables] == [rows, rows]
        assert sum(len(own) for table in tables for own in table.own) == rows


@pytest.mark.parametrize("kind", ["folders", "archives"])
def test_replicas_that_share_layers_need_the_same_rows(tmp_path: Path, kind: str) -> None:
    X, y = numbered(10)
    paths: list[Path] = []
    for host, first in (("a", 0), ("b", 2), ("c", 0)):
        folder = write_shards(tmp_path / host, X[first : first + 8], y[first : first + 8])
        paths.append(folder if kind == "folders" else folder / "000.npz")
    a, b, c = paths
    sentence = "--parallelism model: the replicas have different rows, and each needs all of them; "
    with pytest.raises(train_nn.Refused, match=f"{sentence}give every replica the same archives"):
        read_by([a, b], train_nn.read_table, "model")
    for table in read_by([a, c], train_nn.read_table, "model"):
        assert (table.own, table.rows, table.replicas) == ([range(8)], 8, 1)


def test_replicas_exchange_the_descriptions_of_any_number_of_archives(
    tmp_path: Path, pool: Pool
) -> None:
    cuts = range(1, 400)
    folder = write_shards(tmp_path / "shards", *numbered(400), cuts)
    X, y = numbered(400)
    np.savez(tmp_path / "val", X_val=X, y_val=y)
    flags = ("--train", folder, "--val", tmp_path / "val.npz", "--epochs", 1)
    for ended in pool.run(2, train_as, (*flags, "--model_dir", tmp_path / "run")):
        assert (ended.code, ended.err) == (0, "")


def test_an_archive_of_more_than_64_mib_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = numbered(2**12, 2**12 + 1)
    np.savez(tmp_path / "large", X_train=X, y_train=y)
    (part,) = train_nn.read_table(f"{tmp_path}/large.npz", "train", CPU, 0, 1).parts
    assert isinstance(part.X.base, np.ndarray)
    monkeypatch.setattr(train_nn, "companion", lambda name: None)  # as if sent alone
    table = train_nn.read_table(f"{tmp_path}/large.npz", "train", CPU, 0, 1)
    assert torch.equal(table.X, torch.from_numpy(X))


def test_the_digest_is_of_the_content_and_not_of_names(tmp_path: Path) -> None:
    X, y = numbered(10)
    digests = [
        read(write_shards(tmp_path / "a", X, y, [4])).digest,
        read((tmp_path / "a").rename(tmp_path / "b")).digest,
        read(write_shards(tmp_path / "c", X + 2, y, [4])).digest,
        read(write_shards(tmp_path / "d", X, 1 - y, [4])).digest,
        read(write_shards(tmp_path / "e", X.astype(float), y, [4])).digest,
    ]
    assert digests[0] == digests[1] and len(set(digests)) == 4


# ---- what a path means --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("", 6), ("/", 6), ("/*.npz", 6), ("/b-*.npz", 5), ("/[a]*", 1), ("/a-1.npz", 1),
        ("/?-2.npz", 2), ("/*/c.npz", 8), ("/d[1].npz", 16),
    ],
)  # fmt: skip
def test_a_path_means_a_file_a_folder_or_all_that_a_pattern_fits(
    tmp_path: Path, path: str, rows: int
) -> None:
    X, y = numbered(32)
    folder = tmp_path / "data"
    (folder / "deeper").mkdir(parents=True)
    names = {"a-1.npz": 1, "b-2.npz": 2, "b-3.npz": 3, "deeper/c.npz": 8}
    if "[1]" in path:
        names = {"d[1].npz": 16}
    (folder / "notes.txt").write_text("not a shard")
    for name, number in names.items():
        np.savez(folder / name, X_train=X[:number], y_train=y[:number])
    assert read(f"{folder}{path}").rows == rows


@pytest.mark.parametrize("path", ["", "/*.npz", "/nowhere-*.npz", "/none/*/x.npz"])
def test_a_folder_without_shards_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "data").mkdir()
    good = save(tmp_path / "good.npz")
    ended = inside("--train", f"{tmp_path}/data{path}", "--val", good, "--model_dir", tmp_path)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"--train {tmp_path}/data{path}: there is no " in ended.err


def test_shards_of_different_widths_are_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, *numbered(4, 3), cuts=[2])
    np.savez(tmp_path / "x.npz", X_train=np.ones((2, 5)), y_train=[0, 1])
    sentence = r"001\.npz has 3 features, x\.npz has 5 features; prepare all alike"
    with pytest.raises(train_nn.Refused, match=sentence):
        read(tmp_path)


def test_the_shard_with_a_missing_value_is_named(tmp_path: Path) -> None:
    X, y = numbered(30, 3)
    X[17, 2] = X[25, 0] = np.nan
    write_shards(tmp_path, X, y, [10, 20])
    for numbers in (10**6, 9):
        with window(numbers), pytest.raises(train_nn.Refused) as refused:
            read_by([tmp_path] * 3)
        assert f"{tmp_path}/001.npz: X_train has 1 missing or infinite" in str(refused.value)
        assert "first in row 7, column 2 (from 0)" in str(refused.value)
    y[28] = 2
    write_shards(tmp_path, np.nan_to_num(X), y, [10, 20])
    with window(9), pytest.raises(train_nn.Refused, match=r"002\.npz: y_train has labels other"):
        read_by([tmp_path] * 2)


# ---- memory maps --------------------------------------------------------------------------------
@given(
    dtypes=st.tuples(*[st.sampled_from(["f2", "f4", ">f8", "i1", "u2", "i8", "bool"])] * 2),
    fortran=st.booleans(),
    column=st.booleans(),
    batch=st.integers(1, 20),
)
def test_a_mapped_table_of_any_numbers_is_that_in_memory(
    dtypes: tuple[str, str], fortran: bool, column: bool, batch: int
) -> None:
    numbers = np.arange(60).reshape(20, 3) % 7 - 2
    X, y = numbers.astype(dtypes[0]), (np.arange(20) % 2).astype(dtypes[1])
    X, y = (np.asfortranarray(X) if fortran else X), (y[:, None] if column else y)
    with new_folder() as folder, window(12):
        mapped = read(write_shards(folder / "mapped", X, y, [7]))
        kept = read(write_shards(folder / "kept", X, y, [7], np.savez_compressed))
        assert all(isinstance(part.X.base, np.ndarray) for part in mapped.parts)
        assert {part.X.dtype for part in mapped.parts} == {np.dtype(dtypes[0])}
        assert {part.X.dtype for part in kept.parts} == {np.dtype(np.float32)}
        for size in (0, batch):
            for one, other in zip(batches(mapped, size), batches(kept, size), strict=True):
                assert torch.equal(one[0], other[0]) and torch.equal(one[1], other[1])
        expected = torch.tensor(X.astype(np.float32))
        assert torch.equal(torch.cat([X for X, _ in batches(mapped, 0)]), expected)


def batches(table: Any, batch: int) -> list[Any]:
    made = table.batches(batch, torch.Generator().manual_seed(0))
    return [pair for chunks, _ in made for pair in chunks]


@pytest.mark.parametrize("place", range(0, 128, 3))
def test_a_damaged_header_of_a_mapped_array(tmp_path: Path, place: int) -> None:
    """Its checksum is not compared, as that needs all of it: the header must fit the length."""
    archive = write_shards(tmp_path, *numbered(400, 8)) / "000.npz"
    content = bytearray(archive.read_bytes())
    content[content.index(b"\x93NUMPY") + place] ^= 0x28
    archive.write_bytes(content)
    with window(100):
        try:
            table = read(archive)
        except train_nn.Refused as problem:
            assert str(archive) in str(problem) and "\n" not in str(problem)
        else:
            assert (table.rows, table.features) == (400, 8)
            batches(table, 50)


@pytest.mark.parametrize("damage", ["cut short", "too long", "an object"])
def test_a_mapped_archive_that_is_not_whole(tmp_path: Path, damage: str) -> None:
    X, y = numbered(400, 8)
    archive = tmp_path / "table.npz"
    np.savez(archive, X_train=X.astype(object) if damage == "an object" else X, y_train=y)
    content = archive.read_bytes()
    if damage == "cut short":
        archive.write_bytes(content[: len(content) // 2])
    if damage == "too long":
        archive.write_bytes(content.replace(b"(400, 8)", b"(900, 8)"))
    with window(100), pytest.raises(train_nn.Refused, match=r"table\.npz: "):
        read(archive)


# ---- larger than memory -------------------------------------------------------------------------
SIZES = {"0[0-3].npz": 0.5, "0[0-7].npz": 1, "0?.npz": 2, "[01]?.npz": 4}  # in GB


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """32 shards of 128 MB, 256 features each, and a small archive to validate with."""
    folder = tmp_path_factory.mktemp("large")
    X = np.random.default_rng(0).standard_normal((2**17, 256), dtype=np.float32)
    y = (X[:, 0] > 0).astype(np.uint8)
    np.savez(folder / "val", X_val=X[:999], y_val=y[:999])
    np.savez(folder / "00", X_train=X, y_train=y)
    for index in range(1, 32):
        shutil.copyfile(folder / "00.npz", folder / f"{index:02x}.npz")
    yield folder
    shutil.rmtree(folder)


def private_memory(process: subprocess.Popen[str]) -> int:
    """Bytes of a process that no file backs, of which the rest can be taken back at any time."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return sum(1024 * int(n) for n in re.findall(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_any_table_trains_in_the_same_memory(large: Path, tmp_path: Path) -> None:
    peaks = {}
    for shards, size in SIZES.items():
        flags = ["--train", f"{large}/{shards}", "--val", f"{large}/val.npz", "--epochs=1"]
        flags += ["--batch_size=4096", "--hidden=8", "--model_dir", f"{tmp_path}/{size}"]
        limited = ["sh", "-c", 'ulimit -d 1048576; exec "$@"', "sh", sys.executable]  # 1 GB
        command = [*limited, str(SCRIPT), *flags]
        alone = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=alone) as process:
            peaks[size] = 0
            while process.poll() is None:
                peaks[size] = max(peaks[size], private_memory(process))
                time.sleep(0.01)
            assert process.stderr and not process.returncode, process.stderr.read()
        metrics = json.loads((tmp_path / f"{size}/metrics.json").read_text())
        assert metrics["replicas"][0]["rows"] == {"start": 0, "stop": size * 2**20}
    assert peaks[4] < 1.1 * peaks[0.5] + 20e6, peaks


@pytest.mark.slow
def test_two_replicas_of_a_large_table_give_the_model_of_one(large: Path, tmp_path: Path) -> None:
    flags = ("--train", f"{large}/0[0-3].npz", "--val", f"{large}/val.npz", "--epochs", 1)
    flags += ("--batch_size", 4096, "--hidden", 8)
    models = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        running = as_replicas(number, Path("unused"), folder, *flags, "--model_dir", folder)
        with running:
            assert running.codes() == [0] * number, running.said(0)
        models.append(torch.load(folder / "model.pt", weights_only=True)["model"])
    for name, value in models[0].items():
        torch.testing.assert_close(models[1][name], value, rtol=0, atol=1e-5)


def test_shards_that_were_prepared_differently_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    for name, preparation in (("a", '{"age": 30}'), ("b", '{"age": 31}')):
        save(folder / f"{name}.npz", preparation=preparation)
    done = inside("--train", folder, "--val", folder, "--model_dir", tmp_path / "out")
    assert done.code == 2
    assert "a.npz" in done.err and "b.npz" in done.err and "prepare all alike" in done.err
    assert not (tmp_path / "out").exists()


def test_validation_rows_that_were_prepared_by_another_fit_are_refused(tmp_path: Path) -> None:
    train = save(tmp_path / "train.npz", preparation='{"age": 30}')
    val = save(tmp_path / "val.npz", preparation='{"age": 31}')
    done = inside("--train", train, "--val", val, "--model_dir", tmp_path / "out")
    assert done.code == 2 and str(val) in done.err and "prepare both alike" in done.err
