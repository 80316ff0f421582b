"""A pool of processes that have the script imported and train as replicas of one model."""

from __future__ import annotations

import contextlib
import io
import itertools
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from tests.training.support import LOOPBACK, Ended, main
from training import train_nn

LARGEST = 7


def serve(line: Connection) -> None:
    """Do what is sent, and send back what it returns, until the other side is gone."""
    torch.set_num_threads(1)
    with contextlib.suppress(EOFError):
        while True:
            work = line.recv()
            try:
                line.send((work(), None))
            except Exception as problem:  # noqa: BLE001 - the test raises it
                line.send((None, repr(problem)))


class Pool:
    """As many processes as have been asked for so far, seven at most."""

    def __init__(self) -> None:
        self.lines: list[Connection] = []
        self.context = multiprocessing.get_context("forkserver")  # torch is imported once for all
        self.context.set_forkserver_preload(["tests.training.pool"])
        self.folder = tempfile.TemporaryDirectory()
        self.runs = itertools.count(1)
        self.patience = 60.0  # seconds

    def run(self, size: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What work(rank, size, *arguments) returns on each of so many replicas, by rank."""
        while len(self.lines) < size:
            self._start()
        url = f"file://{self.folder.name}/run-{next(self.runs)}"
        lines = self.lines[:size]
        for rank, line in enumerate(lines):
            line.send(partial(meeting_at, url, work, rank, size, *arguments))
        answers = []
        for line in lines:
            assert line.poll(self.patience), "a replica waits in vain"
            answers.append(line.recv())
        for _, problem in answers:
            assert problem is None, problem
        return [answer for answer, _ in answers]

    def _start(self) -> None:
        os.environ.update(LOOPBACK)
        ours, theirs = self.context.Pipe()
        self.context.Process(target=serve, args=(theirs,), daemon=True).start()
        theirs.close()
        self.lines.append(ours)

    def close(self) -> None:
        """Let the processes go."""
        for line in self.lines:
            line.close()
        self.folder.cleanup()


meeting_url = ""  # where the replicas of the run in progress meet


def meeting_at(url: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """What work(*arguments) returns, whose replicas meet at this URL."""
    global meeting_url
    meeting_url = url
    return work(*arguments)


@contextlib.contextmanager
def instead(**changes: Any) -> Iterator[None]:
    """Other functions in the script's place, for a while."""
    before = {name: getattr(train_nn, name) for name in changes}
    for name, value in changes.items():
        setattr(train_nn, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(train_nn, name, value)


def in_step(number: int, event: Callable[[], object]) -> Callable[[nn.Module, int], None]:
    """The script's add_up_gradients(), called once in every step; in this one the event comes."""
    calls, add_up = itertools.count(1), train_nn.add_up_gradients

    def counted(model: nn.Module, replicas: int) -> None:
        add_up(model, replicas)
        if next(calls) == number:
            event()

    return counted


def lose_the_others() -> None:
    """As when a connection to another replica breaks off."""
    raise dist.DistNetworkError("the connection is lost")


def train_as(
    rank: int, size: int, flags: tuple[Any, ...], exactly: bool = False, stop: int | None = None
) -> Ended:
    """The script's main() as this replica of so many, which meet where the pool's run says.

    exactly: in float64. Adam divides by the gradient's own size: in float32 a gradient of nearly
    nothing is all rounding, and moves its weight as far as any other.
    stop: the step, counted from 1, in which each loses the others. (The connections of one that
    ends alone would stay open: unlike a process that is lost, this one does not end.)
    """

    def find(_: Mapping[str, str]) -> train_nn.Replica:
        return train_nn.Replica(rank, size, meeting_url)

    changes: dict[str, Any] = {"find_replicas": find}
    if exactly:
        changes["read_table"] = partial(doubled, train_nn.read_table)
    if stop:
        changes["add_up_gradients"] = in_step(stop, lose_the_others)
    torch.set_default_dtype(torch.float64 if exactly else torch.float32)
    out, err = io.StringIO(), io.StringIO()
    try:
        with instead(**changes), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(flags)
    finally:
        torch.set_default_dtype(torch.float32)
    return Ended(code, out.getvalue(), err.getvalue())


def doubled(read: Callable[..., train_nn.Table], *arguments: Any, **named: Any) -> train_nn.Table:
    """A table's numbers as float64."""
    table = read(*arguments, **named)
    return table._replace(X=table.X.double(), y=table.y.double())


def weights_of(folder: Path) -> torch.Tensor:
    """All weights of a model that was written."""
    state = torch.load(folder / "model.pt", weights_only=True)["model"]
    return torch.cat([value.flatten() for value in state.values()])
