"""Tables of one archive or of many shards: whose rows are whose, and in which order they come."""

from __future__ import annotations

import itertools
import math
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import example, given
from hypothesis import strategies as st

import archives
import big_tables
from testing.examples import with_examples
from tests.training import pool as pools
from tests.training.pool import Pool

CPU = torch.device("cpu")


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


def read(
    path: Path | str, rank: int = 0, replicas: int = 1, labels: Sequence[float] = (0, 1)
) -> big_tables.BigTable:
    return big_tables.read_table(
        str(path), "train", rank=rank, replicas=replicas, device=CPU, labels=labels
    )


@contextmanager
def replicas_that_hold(paths: Sequence[Path | str]) -> Iterator[None]:
    """A group of replicas with a path each, of which every one hears what the others have."""
    held = []
    for path in paths:
        held.append(big_tables.describe(archives.find(str(path)), "train", archives.read_object))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(big_tables, "exchange", lambda own: held)
        yield


def read_by(paths: Sequence[Path | str]) -> list[big_tables.BigTable]:
    """The tables of several replicas that share the rows, each of which reads a path of its own."""
    with replicas_that_hold(paths):
        return [read(path, rank, len(paths)) for rank, path in enumerate(paths)]


def own_rows(table: big_tables.BigTable) -> list[range]:
    return table.rows_of(table.rank)


def epochs(table: big_tables.BigTable, batch: int, seed: int = 0, number: int = 2) -> list[Any]:
    """The own rows' numbers in every step of some epochs, with the rows of all replicas in it."""
    shuffle = torch.Generator().manual_seed(seed)
    made = []
    for _ in range(number):
        for own, size in table.batches(batch or table.rows, shuffle):
            pairs = list(own)
            for X, y in pairs:
                assert len(X) > 0  # others may have all rows of a batch: then there is no piece
                assert X.dtype == y.dtype == torch.float32
                assert X.shape == (len(y), table.X.shape[1]) and y.shape == (len(y), 1)
                assert torch.equal(X[:, :1] % 2, y)
                assert X.numel() <= max(big_tables.WINDOW, table.X.shape[1])
            made.append(([int(x) for X, _ in pairs for x in X[:, 0]], size))
    return made


# ---- the steps of an epoch ----------------------------------------------------------------------
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
def test_replicas_and_shards_change_nothing_in_the_steps(
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


def test_a_small_table_is_shuffled_as_a_whole(tmp_path: Path) -> None:
    """As the script shuffles one archive: the same rows give the same model."""
    table = read(write_shards(tmp_path, *numbered(50), cuts=[20]))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(5)).tolist()
    assert [row for own, _ in epochs(table, 8, 5, 1) for row in own] == order
    ((X, y),) = table.pieces()
    assert torch.equal(X, table.X) and torch.equal(y[:, 0], torch.from_numpy(numbered(50)[1]))


def test_a_large_table_is_shuffled_far_and_near(tmp_path: Path) -> None:
    with window(1600):  # 1600 rows: 16 pieces of 100 in each window
        table = read(write_shards(tmp_path, *numbered(16_000, 1)))
        first, *_ = [own for own, _ in epochs(table, 400, 0, 1)]
    assert len({row // 100 for row in first}) == 16
    assert min(first) < 4000 and max(first) > 12_000


@given(**tables)
def test_all_own_rows_come_in_order_in_pieces(
    rows: int, features: int, cuts: list[int], batch: int, numbers: int, seed: int
) -> None:
    with new_folder() as folder, window(numbers):
        shards = write_shards(folder, *numbered(rows, features), cuts)
        for rank, table in enumerate(read_by([shards] * 3)):
            own = range(rows * rank // 3, rows * (rank + 1) // 3)
            assert own_rows(table) == [own or range(0)]
            pieces = list(table.pieces())
            assert [int(x) for X, _ in pieces for x in X[:, 0]] == list(own)
            assert all(0 < X.numel() <= max(numbers, features) for X, _ in pieces)
            assert table.rows == rows


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
        for table in several:  # each knows what the others have
            assert [table.rows_of(rank) for rank in range(4)] == [
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
    with pytest.raises(ValueError, match=r"not all machines have the same 000\.npz; give "):
        read_by([tmp_path / "a", tmp_path / "b"])
    shutil.copy(tmp_path / "a/000.npz", tmp_path / "b")
    read_by([tmp_path / "a", tmp_path / "b"])
    shutil.copy(tmp_path / "a/000.npz", tmp_path / "b/more.npz")
    with pytest.raises(ValueError, match="not all machines have the same"):
        read_by([tmp_path / "a", tmp_path / "b"])


def test_replicas_with_an_archive_each_train_on_both(tmp_path: Path) -> None:
    """Also if both hold the same numbers; archives of the same name and content are one."""
    X, y = numbered(10)
    for host, name, rows in (("a", "1", 4), ("b", "2", 10), ("c", "3", 4), ("d", "1", 4)):
        (tmp_path / host).mkdir()
        np.savez(tmp_path / host / name, X_train=X[:rows], y_train=y[:rows])
    a, b, c, d = sorted(tmp_path.glob("?/*.npz"))
    for paths, rows in (([a, b], 14), ([a, c], 8), ([a, d], 4)):
        tables = read_by(paths)
        assert [table.rows for table in tables] == [rows, rows]
        assert sum(len(own) for table in tables for own in own_rows(table)) == rows


def test_replicas_that_share_layers_need_the_same_rows(tmp_path: Path) -> None:
    """But not archives of the same names."""
    X, y = numbered(10)
    for host, first in (("a", 0), ("b", 2), ("c", 0)):
        write_shards(tmp_path / host, X[first : first + 8], y[first : first + 8])
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    (c / "000.npz").rename(c / "other.npz")
    with (
        replicas_that_hold([a, b]),
        pytest.raises(ValueError, match="have different rows, and each needs all of them; give"),
    ):
        read(a)
    with replicas_that_hold([a, c]):
        for path in (a, c):
            table = read(path)
            assert (table.rows_of(0), table.rows, table.replicas) == ([range(8)], 8, 1)


def exchanged(rank: int, size: int, most: int) -> list[list[big_tables.Description]]:
    """What a replica hears, whose own archives are named after it."""
    number = most if rank == 0 else rank
    own = [big_tables.Description(f"{rank}-{i}", i, 2, "sum", '{"é": 1}') for i in range(number)]
    dist.init_process_group("gloo", pools.meeting_url, rank=rank, world_size=size)
    try:
        return big_tables.exchange(own)
    finally:
        dist.destroy_process_group()


def test_replicas_exchange_the_descriptions_of_any_number_of_archives(pool: Pool) -> None:
    one, two, three = pool.run(3, exchanged, 400)
    assert one == two == three
    assert [len(held) for held in one] == [400, 1, 2]
    assert one[2][1] == big_tables.Description("2-1", 1, 2, "sum", '{"é": 1}')


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


def test_a_pattern_means_files_here_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path, *numbered(5), cuts=[2])
    monkeypatch.chdir(tmp_path)
    assert archives.find("*1.npz") == {"001.npz": "001.npz"}


@pytest.mark.parametrize("path", ["", "/*.npz", "/nowhere-*.npz", "/none/*/x.npz"])
def test_a_folder_without_shards_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(FileNotFoundError, match=f"there is no .*npz in {tmp_path}/data/"):
        read(f"{tmp_path}/data{path}")


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("gs://", "this names no bucket; write gs://bucket/name"),
        ("s3:///*.npz", "this names no bucket; write s3://bucket/name"),
        ("https://host/tables/", "https:// is unknown; give a file, gs:// or s3://"),
        ("az://bucket/table.npz", "az:// is unknown"),
    ],
)
def test_a_uri_that_names_no_bucket_is_refused(uri: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(uri)


# ---- what is refused ----------------------------------------------------------------------------
def test_without_the_client_library_its_name_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script says then what to install."""
    monkeypatch.setitem(sys.modules, "boto3", None)  # as if it were not there
    with pytest.raises(ModuleNotFoundError, match="boto3"):
        read("s3://bucket/table.npz")


def test_shards_of_different_widths_are_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, *numbered(4, 3), cuts=[2])
    np.savez(tmp_path / "x.npz", X_train=np.ones((2, 5)), y_train=[0, 1])
    sentence = r"001\.npz has 3 features, x\.npz has 5 features; prepare all alike"
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path)


def test_shards_that_were_prepared_differently_are_refused(tmp_path: Path) -> None:
    X, y = numbered(4)
    for name, preparation in (("a", '{"age": 30}'), ("b", '{"age": 31}'), ("c", '{"age": 30}')):
        np.savez(tmp_path / name, X_train=X, y_train=y, preparation=preparation)
    np.savez(tmp_path / "d", X_train=X, y_train=y)  # does not say
    assert read(tmp_path / "[ac-d].npz").preparation == '{"age": 30}'
    sentence = r"[ac]\.npz and b\.npz have different preparations; prepare all alike"
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path)


@pytest.mark.parametrize("numbers", [10**6, 9])
def test_a_missing_value_is_named_by_its_row_in_its_shard(tmp_path: Path, numbers: int) -> None:
    """The third replica's rows begin inside of the shard with the missing values."""
    X, y = numbered(30, 3)
    X[17, 2] = X[25, 0] = X[26, 1] = np.nan
    y[9] = np.inf
    write_shards(tmp_path, X, y, [10, 14])
    sentences = [
        r"/000\.npz: y_train has labels other than 0, 1$",
        r"/002\.npz: X_train has 1 missing or infinite values, first in row 3, column 2 \(from 0",
        r"/002\.npz: X_train has 2 missing or infinite values, first in row 11, column 0 \(from 0",
    ]
    with window(numbers), replicas_that_hold([tmp_path] * 3):
        for rank, sentence in enumerate(sentences):
            with pytest.raises(ValueError, match=sentence):
                read(tmp_path, rank, 3)


def test_labels_may_be_any_numbers_but_not_missing(tmp_path: Path) -> None:
    X, y = numbered(6)
    np.savez(tmp_path / "0", X_train=X, y_train=y * 2.5)
    with pytest.raises(ValueError, match=r"0\.npz: y_train has labels other than 0, 1"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"0\.npz: y_train has labels other than 0, 1, 2"):
        read(tmp_path, labels=(0, 1, 2))
    ((_, labels),) = read(tmp_path, labels=()).pieces()
    assert labels.max() == 2.5
    y[3] = np.nan
    np.savez(tmp_path / "0", X_train=X, y_train=y)
    with pytest.raises(ValueError, match=r"0\.npz: y_train has missing or infinite values; drop"):
        read(tmp_path, labels=())


X, Y = numbered(6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"X_train": None}, "there is no array X_train; name the arrays in numpy.savez"),
        ({"y_train": None}, "there is no array y_train; name the arrays in numpy.savez"),
        ({"X_train": X[:, 0]}, "X_train has shape (6,); make it (rows, features), none 0"),
        ({"X_train": X[:0], "y_train": Y[:0]}, "X_train has shape (0, 2)"),
        ({"y_train": Y[:-1]}, "y_train has shape (5,); give each of 6 rows one label"),
        ({"y_train": np.stack([Y, Y], 1)}, "y_train has shape (6, 2)"),
        ({"X_train": X.astype(float) * 1e300}, "X_train has 10 missing or infinite"),
        ({"X_train": X.astype(str)}, "X_train holds <U32; encode it as numbers"),
        ({"X_train": X.astype(complex)}, "X_train holds complex128; encode it as numbers"),
        ({"X_train": X.astype(object)}, "X_train holds text or mixed columns; save plain arrays"),
        ({"preparation": np.arange(9)}, "preparation is not text; write it as JSON"),
    ],
)
def test_an_array_that_cannot_be_trained_on(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    write_shards(tmp_path, X, Y)
    arrays = {"X_train": X, "y_train": Y} | changes
    np.savez(tmp_path / "b", **{name: each for name, each in arrays.items() if each is not None})
    with pytest.raises(ValueError) as refused:
        read(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path}/b.npz: {words}")


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
        assert all(isinstance(part.X.base, np.ndarray) for part in parts_of(mapped))
        assert {part.X.dtype for part in parts_of(mapped)} == {np.dtype(dtypes[0])}
        assert {part.X.dtype for part in parts_of(kept)} == {np.dtype(np.float32)}
        for size in (20, batch):
            for one, other in zip(batches(mapped, size), batches(kept, size), strict=True):
                assert torch.equal(one[0], other[0]) and torch.equal(one[1], other[1])
        expected = torch.tensor(X.astype(np.float32))
        assert torch.equal(torch.cat([X for X, _ in batches(mapped, 20)]), expected)


def parts_of(table: big_tables.BigTable) -> list[big_tables.Part]:
    assert isinstance(table.held, big_tables.RowsInFiles)
    return table.held.parts


def batches(table: big_tables.BigTable, batch: int) -> list[big_tables.Rows]:
    made = table.batches(batch, torch.Generator().manual_seed(0))
    return [piece for own, _ in made for piece in own]


@pytest.mark.parametrize(("device", "in_memory"), [("cuda", True), ("cpu", False)])
def test_a_large_table_is_copied_to_a_gpu_that_has_room_for_it(
    monkeypatch: pytest.MonkeyPatch, device: str, in_memory: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (2 * 1000 * 4 * 4 + 8, 0))
    where = torch.device(device)
    assert big_tables.fits_into_gpu(1000, 3, where) == in_memory
    assert not big_tables.fits_into_gpu(1001, 3, where)


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
        except ValueError as problem:
            assert str(problem).startswith(f"{archive}: ") and "\n" not in str(problem)
        else:
            assert (table.rows, table.X.shape) == (400, (0, 8))
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
    with window(100), pytest.raises(ValueError, match=r"table\.npz: "):
        read(archive)
