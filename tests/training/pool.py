"""A pool of processes that have the script imported and train as replicas of one model."""

from __future__ import annotations

import contextlib
import io
import itertools
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from tests.training.support import LOOPBACK, Ended, main, train_nn

LARGEST = 7


def join(file: str, rank: int, size: int) -> None:
    """Make this process one of a new group, which all join that name the same new file."""
    if dist.is_initialized():
        dist.destroy_process_group()
    store = dist.FileStore(file, size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)


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
    os._exit(0)  # past the threads of gloo


class Pool:
    """As many processes as have been asked for so far, seven at most."""

    def __init__(self) -> None:
        self.lines: list[Connection] = []
        self.size = 0  # of the group
        self.context = multiprocessing.get_context("forkserver")  # torch is imported once for all
        self.context.set_forkserver_preload(["tests.training.pool"])
        self.folder = tempfile.TemporaryDirectory()
        self.groups = 0
        self.patience = 60.0  # seconds

    def run(self, size: int, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What work(rank, size, *arguments) returns on each of so many replicas, by rank."""
        if size != self.size:
            self._gather(size)
        return self._ask([partial(work, rank, size, *arguments) for rank in range(size)])

    def _gather(self, size: int) -> None:
        os.environ.update(LOOPBACK)
        while len(self.lines) < size:
            ours, theirs = self.context.Pipe()
            self.context.Process(target=serve, args=(theirs,), daemon=True).start()
            theirs.close()
            self.lines.append(ours)
        self.groups += 1
        file = os.path.join(self.folder.name, f"group-{self.groups}")
        self._ask([partial(join, file, rank, size) for rank in range(size)])
        self.size = size

    def _ask(self, tasks: list[Callable[[], Any]]) -> list[Any]:
        lines = self.lines[: len(tasks)]
        for line, task in zip(lines, tasks, strict=True):
            line.send(task)
        answers = []
        for line in lines:
            assert line.poll(self.patience), "a replica waits in vain"
            answers.append(line.recv())
        for _, problem in answers:
            assert problem is None, problem
        return [found for found, _ in answers]

    def close(self) -> None:
        """Let the processes go."""
        for line in self.lines:
            line.close()
        self.folder.cleanup()


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


def in_step(number: int, event: Callable[[], object]) -> Callable[..., Any]:
    """The script's compute_gradients(), called once in every step; in this one the event comes."""
    calls, compute = itertools.count(1), train_nn.compute_gradients

    def counted(*arguments: Any) -> Any:
        if next(calls) == number:
            event()
        return compute(*arguments)

    return counted


def sigterm() -> None:
    """As a service asks a process to end."""
    os.kill(os.getpid(), signal.SIGTERM)


def train_as(
    rank: int,
    size: int,
    flags: tuple[Any, ...],
    exactly: bool = False,
    stop: int | None = None,
    join: Callable[[], object] = lambda: None,
) -> Ended:
    """The script's main() as this replica of a group that is there already.

    exactly: in float64. Adam divides by the gradient's own size: in float32 a gradient of nearly
    nothing is all rounding, and moves its weight as far as any other.
    stop: the step, counted from 1, in which the last replica is sent SIGTERM.
    join: what it does instead of forming a group.
    """

    def joined(_: object) -> tuple[int, int]:
        join()
        return rank, size

    changes: dict[str, Any] = {"join": joined}
    if exactly:
        changes["read_table"] = partial(doubled, train_nn.read_table)
    if stop and rank == size - 1:
        changes["compute_gradients"] = in_step(stop, sigterm)
    torch.set_default_dtype(torch.float64 if exactly else torch.float32)
    out, err = io.StringIO(), io.StringIO()
    try:
        with instead(**changes), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(flags)
    finally:
        torch.set_default_dtype(torch.float32)
    return Ended(code, out.getvalue(), err.getvalue())


def doubled(read: Callable[..., Any], *arguments: Any) -> Any:
    """A table's numbers as float64."""
    table = read(*arguments)
    return table._replace(X=table.X.double(), y=table.y.double())


def weights_of(folder: Path) -> torch.Tensor:
    """All weights of a model that was written."""
    state = torch.load(folder / "model.pt", weights_only=True)["model"]
    return torch.cat([value.flatten() for value in state.values()])
