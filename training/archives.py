"""Npz archives that make one table: which a path means, what they hold, and rows of them."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import io
import itertools
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

story: Any  # train_nn.py, which loads this file

ADVICE = "give npz archives of plain arrays, as numpy.savez writes them"


class Shard(NamedTuple):
    """One archive of a table, as its directory and the headers of its arrays describe it."""

    name: str  # below the folder: the same wherever the folder lies
    rows: int
    features: int
    content: str  # checksums that differ when the content does
    preparation: str


class Share(NamedTuple):
    """A replica's own rows in one archive."""

    name: str
    start: int  # the number of the archive's first row in the whole table
    rows: range  # counted from that


class Header(NamedTuple):
    """What can be known of an array in an archive without reading it."""

    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    length: int  # bytes before the first number


@contextlib.contextmanager
def about(path: str, advice: str = ADVICE) -> Iterator[None]:
    """Refuse, in one sentence that begins with the path, whatever is raised inside."""
    try:  # storage clients raise anything, as numpy and zipfile do for a damaged archive
        yield
    except story.Refused as problem:
        raise story.Refused(f"{path}: {problem}") from None
    except Exception as problem:  # noqa: BLE001 - see above
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        raise story.Refused(f"{path}: {reason.splitlines()[0]}; {advice}") from None


def find(path: str) -> dict[str, str]:
    """Return the archives that a path means, in the order of their names: by name, the path."""
    path = story.mounted(path)
    remote = "://" in path
    root, pattern = path.rstrip("/") + "/", "*.npz"
    if not (path.endswith("/") if remote else Path(path).is_dir()):
        if not glob.has_magic(path) or (not remote and Path(path).exists()):
            return {path.rpartition("/")[2]: path}
        fixed = re.split(r"[*?[]", path)[0]
        root = fixed[: fixed.rfind("/") + 1]
        pattern = path.removeprefix(root)
    if remote:
        story.find_object(path)  # refuses a URI without a bucket
        names = story.companion("folders", "several archives").open_folder(root).names()
        # A star stands for no more than one part of a path.
        names = [name for name in names if name.count("/") == pattern.count("/")]
        names = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
    else:
        names = glob.glob(pattern, root_dir=root or None)
    where = root or "."
    story.require(names, f"there is no {pattern} in {where}; write some with numpy.savez")
    return {name: root + name for name in sorted(names)}


@contextlib.contextmanager
def opened(path: str, fetch: Callable[[str], bytes]) -> Iterator[zipfile.ZipFile]:
    """Open a file, or an object that is read into memory; problems name its path."""
    remote = "://" in path
    with about(path):
        if not remote and Path(path).stat():  # others than files may never end
            story.require(Path(path).is_file(), f"it is not a file; {ADVICE}")
        with io.BytesIO(fetch(path)) if remote else open(path, "rb") as file:
            whole = zipfile.is_zipfile(file)
            story.require(whole, f"it is not a whole npz archive; {ADVICE}")
            with zipfile.ZipFile(file) as archive:
                yield archive


def read_headers(archive: zipfile.ZipFile, names: Sequence[str]) -> dict[str, Header]:
    """Return the headers of those arrays that exist; each must be as long as it says."""
    headers = {}
    for info in archive.infolist():
        if (name := info.filename.removesuffix(".npy")) in names:
            with archive.open(info) as member:
                old = np.lib.format.read_magic(member) == (1, 0)
                read = getattr(np.lib.format, f"read_array_header_{1 if old else 2}_0")
                shape, fortran, dtype = read(member)
                header = Header(info, shape, fortran, dtype, member.tell())
            # Python objects are pickled, and a pickle could run code.
            story.require(not dtype.hasobject, f"{name} holds text or mixed columns; {ADVICE}")
            if header.length + math.prod(shape) * dtype.itemsize != info.file_size:
                raise ValueError(f"{name} is longer or shorter than its header says")
            headers[name] = header
    return headers


def read_rows(archive: zipfile.ZipFile, header: Header, rows: range, raw: Any) -> Any:
    """Return rows of an array as float32, or as stored in `raw`, the file mapped into memory."""
    info = header.info
    if raw is None or info.compress_type != zipfile.ZIP_STORED:
        with archive.open(info) as member:  # to its end, where its checksum is compared
            array = np.lib.format.read_array(member, allow_pickle=False)
        return as_floats(array[rows.start : rows.stop])
    start = info.header_offset + 30  # there the name begins, then come some extras
    start += int(raw[start - 4 : start].view("<u2").sum(dtype=int)) + header.length
    flat = raw[start : start + info.file_size - header.length].view(header.dtype)
    array = flat.reshape(header.shape, order="F" if header.fortran else "C")
    return array[rows.start : rows.stop]


def as_floats(array: Any, copy: bool = True) -> Any:
    """Convert to float32; a number too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=copy)


def describe(name: str, archive: zipfile.ZipFile, part: str) -> Shard:
    """Return what other replicas must know of an archive; refuse arrays that cannot be a table."""
    names = (f"X_{part}", f"y_{part}", "preparation")
    headers, require = read_headers(archive, names), story.require
    for array in names[:2]:
        require(array in headers, f"there is no array {array}; name the arrays in numpy.savez")
        dtype = headers[array].dtype
        require(dtype.kind in "biuf", f"{array} holds {dtype}; encode it as numbers")
    X, y = (headers[array] for array in names[:2])
    table = len(X.shape) == 2 and all(X.shape)
    require(table, f"{names[0]} has shape {X.shape}; make it (rows, features), none 0")
    rows, features = X.shape
    labels = y.shape in ((rows,), (rows, 1))
    require(labels, f"{names[1]} has shape {y.shape}; give each of {rows} rows one label")
    text, preparation = "", headers.get("preparation")
    if preparation:
        require(preparation.dtype.kind == "U", "preparation is not text; write it as JSON")
        with archive.open(preparation.info) as member:
            text = str(np.lib.format.read_array(member, allow_pickle=False))
    content = " ".join(f"{array.dtype.str} {array.info.CRC:08x}" for array in (X, y))
    return Shard(name, rows, features, f"{rows} {content}", text)


def share_out(lists: list[list[Shard]]) -> tuple[list[Shard], list[list[Share]]]:
    """Return all shards, in order, and every replica's shares of them; refuse unlike ones."""
    # Replicas with the same shards share their rows. A machine may have shards of its own, as
    # SageMaker's ShardedByS3Key gives them out: these are for the replicas on it.
    shards = sorted(itertools.chain(*{tuple(held) for held in lists}))
    for one, other in itertools.pairwise(shards):
        advice = "give every machine the same files, or each of them names of its own"
        story.require(one.name != other.name,
                      f"not all machines have the same {one.name}; {advice}")  # fmt: skip
        a, b = (f"{shard.name} has {shard.features} features" for shard in (one, other))
        story.require(one.features == other.features, f"{a}, {b}; prepare all alike")
    prepared = {shard.preparation: shard.name for shard in shards if shard.preparation}
    names = " and ".join(prepared.values())
    story.require(len(prepared) < 2, f"{names} have different preparations; prepare all alike")
    ends = itertools.accumulate(shard.rows for shard in shards)
    starts = {shard.name: end - shard.rows for shard, end in zip(shards, ends, strict=True)}
    shares: list[list[Share]] = [[] for _ in lists]
    for rank, held in enumerate(lists):
        alike = [other for other, theirs in enumerate(lists) if theirs == held]
        rows = sum(shard.rows for shard in held)
        own = story.own_rows(rows, alike.index(rank), len(alike))
        first, last = own.start, own.stop  # counted from the first row of each shard in turn
        for shard in held:
            if inside := range(max(first, 0), min(last, shard.rows)):
                shares[rank].append(Share(shard.name, starts[shard.name], inside))
            first, last = first - shard.rows, last - shard.rows
    return shards, shares
