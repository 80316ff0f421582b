"""Tables of several archives, or larger than memory: steps from windows of mapped rows.

read_table() returns a BigTable. Its own rows are in memory if the whole table is small, and on a
GPU if there is room for them; else they stay in the files, from which each window of an epoch is
read. Several replicas share the rows of one table, and each of them may hold other archives of it.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

import archives
from archives import Description

WINDOW = 2**24  # so many float32 numbers, 64 MiB, are held at once of a table larger than that

Rows = tuple[Tensor, Tensor]  # X (rows, features) and y (rows, 1), float32, on the device


# ---- the table -----------------------------------------------------------------------------------
class Batch(NamedTuple):
    """What a replica trains on in one step."""

    pieces: Iterable[Rows]  # of this replica's rows
    size: int  # the rows of all replicas together


@dataclass
class BigTable:
    """A replica's own rows of a table, and what all replicas know of the whole."""

    held: RowsInMemory | RowsInFiles  # the own rows
    rank: int  # of this replica
    ranges: list[list[range]]  # which rows of the whole table each replica has
    rows: int  # of the whole table
    replicas: int  # that share the rows out
    preparation: str  # how the features were made, as JSON; "" if no archive says so
    digest: str  # of the whole content

    @property
    def X(self) -> Tensor:
        """Return the rows in memory: (own rows, features), or (0, features) if all are in files."""
        return self.held.X

    @property
    def window(self) -> int:
        """Return how many rows are held at once."""
        return max(1, WINDOW // self.X.shape[1])

    def rows_of(self, rank: int) -> list[range]:
        """Return which rows of the whole table a replica has."""
        return self.ranges[rank]

    def pieces(self) -> Iterator[Rows]:
        """Yield all own rows in order, a window at once."""
        return self.held.pieces(self.window)

    def batches(self, batch_size: int, shuffle: torch.Generator) -> Iterator[Batch]:
        """Yield the batches of an epoch, in which each row takes part once."""
        if batch_size >= self.rows:
            yield Batch(self.pieces(), self.rows)
            return
        for order in self.orders(batch_size, shuffle):
            if batch_size > self.window:  # then these are the rows of one batch
                yield Batch(self.pieces_of_batch(order), len(order))
            else:
                yield from self.batches_of_window(order, batch_size)

    def orders(self, batch_size: int, shuffle: torch.Generator) -> Iterator[Tensor]:
        """Yield the order of all rows in an epoch, the same on all replicas, window by window.

        A table larger than a window is shuffled in pieces, which are rows that follow one another;
        then the rows of each window, which has about 16 pieces, are shuffled together.
        """
        if self.rows <= self.window:
            yield torch.randperm(self.rows, generator=shuffle)
            return
        piece_size = max(1, self.window // 16)
        pieces = torch.randperm(math.ceil(self.rows / piece_size), generator=shuffle)
        first_rows = pieces * piece_size
        sizes = (self.rows - first_rows).clamp(max=piece_size)
        ends = sizes.cumsum(0)  # of each piece in the order
        begins = ends - sizes
        whole_steps = max(batch_size, self.window // batch_size * batch_size)
        for first in range(0, self.rows, whole_steps):
            places = torch.arange(first, min(first + whole_steps, self.rows))
            piece = torch.bucketize(places, ends, right=True)
            rows = first_rows[piece] + places - begins[piece]
            yield rows[torch.randperm(len(rows), generator=shuffle)]

    def is_own(self, rows: Tensor) -> Tensor:
        """Return for each of these rows of the whole table whether this replica has it."""
        own = torch.zeros(len(rows), dtype=torch.bool)
        for some in self.rows_of(self.rank):
            own |= (rows >= some.start) & (rows < some.stop)
        return own

    def batches_of_window(self, order: Tensor, batch_size: int) -> Iterator[Batch]:
        """Yield the batches of the rows of a window, which are read together."""
        batches = torch.split(order, batch_size)
        if self.replicas == 1:
            own, sizes = order, [len(batch) for batch in batches]
        else:
            places = self.is_own(order).nonzero().flatten()
            own = order[places]
            sizes = (places // batch_size).bincount(minlength=len(batches)).tolist()
        X, y = self.held.take(own)
        for X_batch, y_batch, batch in zip(X.split(sizes), y.split(sizes), batches, strict=True):
            yield Batch([(X_batch, y_batch)] if len(X_batch) > 0 else [], len(batch))

    def pieces_of_batch(self, order: Tensor) -> Iterator[Rows]:
        """Yield the own rows of a batch that is larger than a window, whose order means nothing."""
        own = order[self.is_own(order)].sort().values
        for rows in torch.split(own, self.window):
            if len(rows) > 0:
                yield self.held.take(rows)


@dataclass
class RowsInMemory:
    """A replica's own rows as tensors on the device."""

    X: Tensor  # (own rows, features)
    y: Tensor  # (own rows, 1)
    ranges: list[range]  # which rows of the whole table these are

    def pieces(self, window: int) -> Iterator[Rows]:
        """Yield all rows in order, so many at once."""
        if len(self.X) > 0:
            yield from zip(torch.split(self.X, window), torch.split(self.y, window), strict=True)

    def take(self, rows: Tensor) -> Rows:
        """Return these rows of the whole table, in this order."""
        places = self.places_of(rows).to(self.X.device)
        return self.X.index_select(0, places), self.y.index_select(0, places)

    def places_of(self, rows: Tensor) -> Tensor:
        """Return where these rows of the whole table are in X."""
        if len(self.ranges) == 1:
            return rows - self.ranges[0].start
        ends = torch.tensor([some.stop for some in self.ranges])
        sizes = torch.tensor([len(some) for some in self.ranges])
        shifts = ends - sizes.cumsum(0)  # from the place in X to that in the whole table
        return rows - shifts[torch.bucketize(rows, ends, right=True)]


class Part(NamedTuple):
    """Rows of one archive, which follow one another in the whole table."""

    X: np.ndarray  # (rows, features), mapped from a file, or float32 if it cannot be
    y: np.ndarray  # (rows, 1)
    rows: range  # which rows of the whole table these are


@dataclass
class RowsInFiles:
    """A replica's own rows, of which only those in use are in memory."""

    parts: list[Part]
    X: Tensor  # (0, features), on the device

    def pieces(self, window: int) -> Iterator[Rows]:
        """Yield all rows in order, at most so many at once."""
        device = self.X.device
        for part in self.parts:
            for start in range(0, len(part.rows), window):
                X = archives.as_floats(part.X[start : start + window])
                y = archives.as_floats(part.y[start : start + window])
                yield to_device(torch.from_numpy(X), device), to_device(torch.from_numpy(y), device)

    def take(self, rows: Tensor) -> Rows:
        """Return these rows of the whole table, in this order."""
        rows, places = rows.sort()  # files are read forwards
        X = torch.empty((len(rows), self.X.shape[1]), dtype=torch.float32)
        y = torch.empty((len(rows), 1), dtype=torch.float32)
        for part in self.parts:
            ends = torch.tensor([part.rows.start, part.rows.stop])
            first, last = torch.searchsorted(rows, ends).tolist()
            if first < last:
                wanted = (rows[first:last] - part.rows.start).numpy()
                X.index_copy_(0, places[first:last], take_rows(part.X, wanted))
                y.index_copy_(0, places[first:last], take_rows(part.y, wanted))
        return to_device(X, self.X.device), to_device(y, self.X.device)

    def in_memory(self) -> RowsInMemory:
        """Return the same rows as tensors that stay on the device."""
        rows = sum(len(part.rows) for part in self.parts)
        features, device = self.X.shape[1], self.X.device
        X = torch.empty((rows, features), dtype=torch.float32, device=device)
        y = torch.empty((rows, 1), dtype=torch.float32, device=device)
        done = 0
        for X_some, y_some in self.pieces(max(1, WINDOW // features)):
            X[done : done + len(X_some)] = X_some
            y[done : done + len(X_some)] = y_some
            done += len(X_some)
        return RowsInMemory(X, y, join_ranges([part.rows for part in self.parts]))


def take_rows(array: np.ndarray, rows: np.ndarray) -> Tensor:
    """Return rows of an array as float32."""
    if array.flags.c_contiguous:  # by bytes: much faster where the numbers are not aligned
        some = array.view(np.uint8).take(rows, axis=0, mode="clip").view(array.dtype)
    else:
        some = array[rows]
    return torch.from_numpy(archives.as_floats(some, copy=False))


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor to the device, unless it is there."""
    if device.type == "cuda":
        tensor = tensor.pin_memory()  # from there the copy is twice as fast
    return tensor.to(device, non_blocking=True)


# ---- whose rows are whose ------------------------------------------------------------------------
class Share(NamedTuple):
    """A replica's own rows of one archive."""

    name: str  # of the archive
    inside: range  # which of its rows these are
    rows: range  # which rows of the whole table these are


def exchange(own: Sequence[Description]) -> list[list[Description]]:
    """Return the descriptions that each replica gives, by rank."""
    if not dist.is_initialized():
        return [list(own)]
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    text = json.dumps(own)  # and no pickle, which could run code
    longest = torch.tensor(len(text), device=device)
    dist.all_reduce(longest, dist.ReduceOp.MAX)
    message = bytearray(text.ljust(int(longest)), "ascii")
    sent = torch.frombuffer(message, dtype=torch.uint8).to(device)
    received = [torch.empty_like(sent) for _ in range(dist.get_world_size())]
    dist.all_gather(received, sent)
    given = []
    for each in received:
        descriptions = json.loads(each.cpu().numpy().tobytes())
        given.append([Description(*fields) for fields in descriptions])
    return given


def require_same(given: Sequence[Sequence[Description]]) -> None:
    """Refuse different rows on replicas that share layers."""
    contents = {tuple(archive.content for archive in each) for each in given}
    if len(contents) > 1:
        raise ValueError(
            "the replicas of --parallelism model have different rows, and each needs all of them; "
            "give every replica the same archives"
        )


def join_archives(given: Sequence[Sequence[Description]]) -> list[Description]:
    """Return all archives of the whole table, sorted by name; refuse those that do not fit.

    A machine may have archives of its own, as SageMaker's ShardedByS3Key gives them out.
    """
    groups = {tuple(each) for each in given}
    table = sorted(itertools.chain(*groups))
    for one, other in itertools.pairwise(table):
        if one.name == other.name:
            raise ValueError(
                f"not all machines have the same {one.name}; give every machine the same files, "
                "or each of them names of its own"
            )
        if one.features != other.features:
            raise ValueError(
                f"{one.name} has {one.features} features, {other.name} has {other.features} "
                "features; prepare all alike"
            )
    prepared = {archive.preparation: archive.name for archive in table if archive.preparation}
    if len(prepared) > 1:
        names = " and ".join(prepared.values())
        raise ValueError(f"{names} have different preparations; prepare all alike")
    return table


def share_out(
    given: Sequence[Sequence[Description]], table: Sequence[Description]
) -> list[list[Share]]:
    """Return each replica's shares: those that hold the same archives share their rows evenly."""
    starts, rows = {}, 0
    for archive in table:
        starts[archive.name] = rows
        rows += archive.rows
    shares = []
    for rank, held in enumerate(given):
        alike = [other for other, theirs in enumerate(given) if theirs == held]
        rows, turn = sum(archive.rows for archive in held), alike.index(rank)
        own = range(rows * turn // len(alike), rows * (turn + 1) // len(alike))
        shares.append(cut(held, own, starts))
    return shares


def cut(held: Sequence[Description], own: range, starts: Mapping[str, int]) -> list[Share]:
    """Return the shares that together are some of the rows of all archives held.

    own: the rows, counted from the first of those that are held.
    starts: the place of each archive's first row in the whole table.
    """
    shares, before = [], 0
    for archive in held:
        first = max(own.start - before, 0)
        stop = min(own.stop - before, archive.rows)
        if first < stop:
            start = starts[archive.name]
            place = range(start + first, start + stop)
            shares.append(Share(archive.name, range(first, stop), place))
        before += archive.rows
    return shares


def join_ranges(ranges: Sequence[range]) -> list[range]:
    """Return at least one range, with those that follow one another joined to one."""
    joined: list[range] = []
    for some in ranges:
        if joined and joined[-1].stop == some.start:
            joined[-1] = range(joined[-1].start, some.stop)
        else:
            joined.append(some)
    return joined or [range(0)]


# ---- reading -------------------------------------------------------------------------------------
def read_table(
    path: str,
    part: str,
    *,
    rank: int,
    replicas: int,
    device: torch.device,
    labels: Sequence[float],
) -> BigTable:
    """Return a replica's own rows of a table, or say in a ValueError or an OSError why not.

    All replicas of torch.distributed's group call this together.

    path: a file, a folder or a pattern, on a disk or as a gs:// or an s3:// URI.
    part: `train` for the arrays X_train and y_train, `val` for X_val and y_val.
    rank, replicas: this replica among those that share the rows out; 0 and 1 if each needs all.
    labels: what y may hold; () for any finite number.
    """
    fetch = functools.lru_cache(maxsize=1)(archives.read_object)  # one object is read only once
    paths = archives.find(path)
    described = describe(paths, part, fetch)
    given = exchange(described)
    if replicas == 1:
        require_same(given)
        given = [described]
    table = join_archives(given)
    shares = share_out(given, table)
    rows, features = sum(archive.rows for archive in table), table[0].features
    is_small = rows * features <= WINDOW
    parts = []
    for share in shares[rank]:
        path = paths[share.name]
        parts.append(load(share, path, part, mapped=not is_small, labels=labels, fetch=fetch))
    own_rows = sum(len(each.rows) for each in parts)
    in_files = RowsInFiles(parts, torch.empty((0, features), dtype=torch.float32, device=device))
    in_memory = is_small or own_rows == 0 or fits_into_gpu(own_rows, features, device)
    content = "\n".join(archive.content for archive in table)
    return BigTable(
        held=in_files.in_memory() if in_memory else in_files,
        rank=rank,
        ranges=[join_ranges([share.rows for share in each]) for each in shares],
        rows=rows,
        replicas=replicas,
        preparation=max(archive.preparation for archive in table),  # "" or the only one
        digest=hashlib.sha256(content.encode()).hexdigest(),
    )


def describe(
    paths: Mapping[str, str], part: str, fetch: Callable[[str], bytes]
) -> list[Description]:
    """Return what all replicas must know of the archives, which have their paths by name."""
    described = []
    for name, path in paths.items():
        with archives.name_in_errors(path), archives.open_archive(path, fetch) as archive:
            described.append(archives.describe(archive, name, part))
    return described


def load(
    share: Share,
    path: str,
    part: str,
    *,
    mapped: bool,
    labels: Sequence[float],
    fetch: Callable[[str], bytes],
) -> Part:
    """Return rows of an archive as float32, or mapped if that is wanted and possible."""
    content = None
    with archives.name_in_errors(path), archives.open_archive(path, fetch) as archive:
        if mapped and "://" not in path:
            content = np.asarray(np.memmap(path, mode="r"))
        X_header, y_header = archives.read_headers(archive, part)
        X = archives.read_rows(archive, X_header, share.inside, content=content)
        y = archives.read_rows(archive, y_header, share.inside, content=content).reshape(-1, 1)
        check(X, y, part, labels=labels, first_row=share.inside.start)
    return Part(X, y, share.rows)


def check(
    X: np.ndarray, y: np.ndarray, part: str, *, labels: Sequence[float], first_row: int
) -> None:
    """Refuse labels that the loss does not know, and missing or infinite values.

    first_row: the number in its archive of the first of these rows.
    """
    bad_values, first_bad = 0, (0, 0)
    window = max(1, WINDOW // X.shape[1])
    for start in range(0, len(X), window):
        check_labels(archives.as_floats(y[start : start + window], copy=False), part, labels)
        numbers = archives.as_floats(X[start : start + window], copy=False)
        bad = np.argwhere(~np.isfinite(numbers))
        if len(bad) > 0 and bad_values == 0:
            row, column = bad[0]
            first_bad = (first_row + start + row, column)
        bad_values += len(bad)
    if bad_values > 0:
        row, column = first_bad
        raise ValueError(
            f"X_{part} has {bad_values} missing or infinite values, first in row {row}, "
            f"column {column} (from 0); fill in or drop the rows"
        )


def check_labels(y: np.ndarray, part: str, labels: Sequence[float]) -> None:
    """Refuse labels that the loss does not know, or that are not finite if it knows any number."""
    if labels and not np.isin(y, labels).all():
        known = ", ".join(str(label) for label in labels)
        raise ValueError(f"y_{part} has labels other than {known}")
    if not np.isfinite(y).all():
        raise ValueError(f"y_{part} has missing or infinite values; drop the rows")


def fits_into_gpu(rows: int, features: int, device: torch.device) -> bool:
    """Return whether the device is a GPU and these rows take less than half of its free memory."""
    if device.type != "cuda":
        return False
    free, _ = torch.cuda.mem_get_info(device)
    return rows * (features + 1) * 4 < free / 2
