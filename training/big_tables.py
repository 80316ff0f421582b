"""Tables of several archives, or larger than memory: batches from windows of mapped rows."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

story: Any  # train_nn.py, which loads this file
archives = story.companion("archives", "a table of several archives, or a large one,")

WINDOW = 2**24  # so many float32 numbers, 64 MiB, are held at once of a table larger than that


class Part(NamedTuple):
    """Rows that follow each other in the whole table."""

    X: Any  # (rows, features): a tensor, or an array mapped from a file
    y: Any  # (rows, 1)
    start: int  # the number of the first of them in the whole table


class BigTable(NamedTuple):
    """A replica's own rows of a table, in parts, and what all replicas know of the whole."""

    parts: list[Part]  # at least one, of no rows if there are none
    X: torch.Tensor  # (0, features): has the features of the table, and none of its rows
    own: list[range]  # the places of the own rows in the whole table
    rows: int  # of the whole table
    replicas: int  # which share these out
    preparation: str
    digest: str  # of the whole table's content
    device: torch.device  # where the batches go

    @property
    def features(self) -> int:
        """Return the number of columns."""
        return self.X.shape[1]

    @property
    def window(self) -> int:
        """Return how many rows are held at once."""
        return max(1, WINDOW // self.features)

    def batches(
        self, size: int = 0, shuffle: Any = None, skip: int = 0
    ) -> Iterator[tuple[Iterable[Any], int]]:
        """Yield an epoch's batches but the first `skip`: chunks of own rows, number of all rows."""
        if not 0 < size < self.rows:
            yield from [(self.stretches(), self.rows)][skip:]
            return
        for order in self.orders(size, shuffle):
            sizes = [len(some) for some in torch.split(order, size)]
            if skip >= len(sizes):
                skip -= len(sizes)
                continue
            rows, own_sizes = order, sizes
            if self.own != [range(self.rows)]:
                mine = torch.zeros(len(order), dtype=torch.bool)
                for some in self.own:
                    mine |= (order >= some.start) & (order < some.stop)
                own = mine.nonzero().flatten()
                rows, own_sizes = order[own], (own // size).bincount(minlength=len(sizes)).tolist()
            if size > self.window:  # then `rows` are those of one batch, whose order means nothing
                yield map(self.gather, torch.split(rows.sort().values, self.window)), sizes[0]
                continue
            batches = (torch.split(item, own_sizes) for item in self.gather(rows))
            # What is skipped is gathered, too: a batch at another place in memory would be
            # multiplied in another order, and its last bits would differ.
            for X, y, number in itertools.islice(zip(*batches, sizes, strict=True), skip, None):
                yield [(X, y)], number
            skip = 0

    def orders(self, size: int, shuffle: Any) -> Iterator[torch.Tensor]:
        """Yield the order of all rows in an epoch, alike on all replicas, window by window."""
        # Of a table larger than a window the order is that of its pieces, which are rows that
        # follow one another in a file; the rows of about 16 pieces are then shuffled together.
        if self.rows <= self.window:
            yield torch.randperm(self.rows, generator=shuffle)
            return
        piece_size = max(1, self.window // 16)
        pieces = torch.randperm(math.ceil(self.rows / piece_size), generator=shuffle)
        sizes = (self.rows - pieces * piece_size).clamp(max=piece_size)
        ends = sizes.cumsum(0)
        window = max(size, self.window // size * size)  # whole batches
        for first in range(0, self.rows, window):
            places = torch.arange(first, min(first + window, self.rows))
            piece = torch.bucketize(places, ends, right=True)
            rows = (pieces * piece_size + sizes - ends)[piece] + places
            yield rows[torch.randperm(len(rows), generator=shuffle)]

    def stretches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield X and y of all own rows in order, at most one window at once."""
        for X, y, _ in self.parts:
            for start in range(0, max(1, len(X)), self.window):
                stretch = slice(start, start + self.window)
                yield on_device(X[stretch], self.device), on_device(y[stretch], self.device)

    def gather(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return X and y of these rows of the whole table, which are all own ones, in order."""
        X, y, start = self.parts[0]
        if len(self.parts) == 1 and isinstance(X, torch.Tensor):
            rows = (rows - start).to(X.device)
            return X.index_select(0, rows), y.index_select(0, rows)
        rows, places = rows.sort()  # files are read forwards
        home = X.device if isinstance(X, torch.Tensor) else "cpu"
        X, y = (torch.empty((len(rows), columns), device=home) for columns in (self.features, 1))
        for part in self.parts:
            ends = torch.tensor([part.start, part.start + len(part.X)])
            first, last = torch.searchsorted(rows, ends).tolist()
            if first < last:
                for whole, own in ((X, part.X), (y, part.y)):
                    some = take(own, rows[first:last] - part.start)
                    whole.index_copy_(0, places[first:last].to(home), some)
        return on_device(X, self.device), on_device(y, self.device)

    def settled(self) -> BigTable:
        """Return the table with its own rows as tensors that stay on the device."""
        ranges = self.own or [range(0)]
        sizes, done = [len(rows) for rows in ranges], 0
        X, y = (
            torch.empty((sum(sizes), columns), device=self.device) for columns in (self.features, 1)
        )
        for some, labels in self.stretches():
            X[done : done + len(some)], y[done : done + len(some)] = some, labels
            done += len(some)
        starts = [rows.start for rows in ranges]
        parts = zip(torch.split(X, sizes), torch.split(y, sizes), starts, strict=True)
        return self._replace(parts=[Part(*part) for part in parts])


def on_device(array: Any, device: torch.device) -> torch.Tensor:
    """Return a tensor there; of a NumPy array, a copy as float32."""
    tensor: torch.Tensor = array
    if not isinstance(array, torch.Tensor):
        tensor = torch.from_numpy(archives.as_floats(array))
    if device.type == "cuda" and tensor.device.type == "cpu":  # from pinned memory: twice as fast
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def take(array: Any, rows: torch.Tensor) -> torch.Tensor:
    """Return these rows of a part."""
    if isinstance(array, torch.Tensor):
        return array.index_select(0, rows.to(array.device))
    if array.flags.c_contiguous:  # by bytes: numbers in an archive are not aligned
        some = array.view(np.uint8).take(rows, 0, mode="clip").view(array.dtype)
    else:
        some = array[rows.numpy()]
    return torch.from_numpy(archives.as_floats(some, copy=False))


def joined(shares: list[Any]) -> list[range]:
    """Return the rows of the whole table, those that follow one another as one range."""
    result: list[range] = []
    for _, start, rows in shares:
        first = start + rows.start
        if result and result[-1].stop == first:
            first = result.pop().start
        result.append(range(first, start + rows.stop))
    return result


def check(X: Any, y: Any, first: int, part: str) -> None:
    """Refuse numbers that cannot be trained on; `first` is the first row's number in its file."""
    count, row, column, step = 0, 0, 0, max(1, WINDOW // X.shape[1])
    for start in range(0, len(X), step):
        some, labels = (
            archives.as_floats(each[start : start + step], copy=False) for each in (X, y)
        )
        bad = np.argwhere(~np.isfinite(some))
        if len(bad) and not count:
            row, column = first + start + bad[0][0], bad[0][1]
        count += len(bad)
        plain = ((labels == 0) | (labels == 1)).all()
        story.require(plain, f"y_{part} has labels other than 0 (no) and 1 (yes)")
    advice = f"first in row {row}, column {column} (from 0); fill in or drop the rows"
    story.require(not count, f"X_{part} has {count} missing or infinite values, {advice}")


def describe_all(path: str, part: str, found: dict[str, str], fetch: Any) -> list[Any]:
    """Return a description of each archive that a path means; `found` receives their paths."""
    with archives.about(path, "check the name and your permissions"):
        found.update(archives.find(path))
    shards = []
    for name in found:
        with archives.opened(found[name], fetch) as archive:
            shards.append(archives.describe(name, archive, part))
    return shards


def load(share: Any, path: str, part: str, small: bool, fetch: Any) -> Part:
    """Return a replica's share of an archive: mapped into memory, or float32 if it cannot be."""
    with archives.opened(path, fetch) as archive:
        names = (f"X_{part}", f"y_{part}")
        headers, mapped = archives.read_headers(archive, names), archive.filename and not small
        raw = np.asarray(np.memmap(path, mode="r")) if mapped else None
        X, y = (archives.read_rows(archive, headers[name], share.rows, raw) for name in names)
        check(X, y := y.reshape(-1, 1), share.rows.start, part)
    return Part(X, y, share.start + share.rows.start)


def read_table(path: str, part: str, device: torch.device, rank: int, replicas: int) -> Any:
    """Return a replica's own rows of all archives of a path; all refuse what one refuses."""
    found, parts, flag = dict[str, str](), list[Part](), f"--{part} "
    fetch = functools.lru_cache(1)(lambda uri: story.find_object(uri)[0]())  # one is read once
    lists = story.exchange(lambda: describe_all(path, part, found, fetch), flag)
    lists = [[archives.Shard(*shard) for shard in each] for each in lists]
    if replicas == 1:  # all of a group that shares the layers need all rows
        contents = {tuple(shard.content for shard in each) for each in lists}
        sentence = "the replicas have different rows, and each needs all of them"
        advice = "give every replica the same archives"
        story.require(len(contents) == 1, f"--parallelism model: {sentence}; {advice}")
        lists = lists[:1]
    with archives.about(f"{flag}{path}"):
        shards, shares = archives.share_out(lists)
    rows, features = sum(shard.rows for shard in shards), shards[0].features
    small = rows * features <= WINDOW

    def load_own() -> None:
        parts.extend(load(share, found[share.name], part, small, fetch) for share in shares[rank])

    story.exchange(load_own, flag)
    own = joined(shares[rank])
    preparation = next((shard.preparation for shard in shards if shard.preparation), "")
    digest = hashlib.sha256("\n".join(shard.content for shard in shards).encode()).hexdigest()
    whole = (rows, replicas, preparation, digest)
    table = BigTable(parts, torch.empty(0, features), own, *whole, device)
    fits = small or not own
    if device.type == "cuda" and not fits:  # if half of the GPU's memory is enough
        size = sum(map(len, own)) * (features + 1) * 4
        fits = size * 2 < torch.cuda.mem_get_info(device)[0]
    table = table.settled() if fits else table
    if small and len(own) == 1:
        return story.Table(table.parts[0].X, table.parts[0].y, own, *whole)
    return table
