"""Whatever another process sends to replicas, they run nothing of it.

Who may reach the replicas of a job is the service's concern: there they share a private network.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.training.pool import Pool, train_as
from tests.training.support import Replicas, cluster_specs, save, table, wait_until

NOBODY = 65_534
SYSTEM_PYTHON = "/usr/bin/python3"  # others may run it; ours lies perhaps where they cannot look


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


def flags(archive: Path, folder: Path, *more: Any) -> tuple[Any, ...]:
    return ("--train", archive, "--val", archive, "--model_dir", folder, *more)


# ---- nothing that a process sends is unpickled ---------------------------------------------------
imported: list[str] | None = None  # by pickles, while somebody watches


def watch(event: str, details: tuple[Any, ...]) -> None:
    if event == "pickle.find_class" and imported is not None:
        imported.append(".".join(details))


def watched(rank: int, size: int, flags: tuple[Any, ...], stop: int | None) -> tuple[int, Any]:
    """The exit code of this replica, and what pickles made it import."""
    global imported
    sys.addaudithook(watch)
    imported = []
    try:
        return train_as(rank, size, flags, stop=stop).code, imported
    finally:
        imported = None


@pytest.mark.parametrize("shared", ["data", "model"])
def test_the_replicas_unpickle_nothing(
    pool: Pool, archive: Path, tmp_path: Path, shared: str
) -> None:
    more = ("--epochs", 9, "--parallelism", shared, "--checkpoint_every", 2)
    given = flags(archive, tmp_path / "run", *more)
    for stop, code in ((5, 134), (None, 0)):  # then from the checkpoint
        assert pool.run(2, watched, given, stop) == [(code, [])] * 2


# ---- a stranger's process ------------------------------------------------------------------------
# It speaks the protocol of torch's TCPStore: the interpreter of another user may have no torch.
STRANGER = """
import os, pickle, socket, struct, sys

port, lists, folder = int(sys.argv[1]), sys.argv[2] == "True", sys.argv[3]
VALIDATE, SET, LIST_KEYS = 0, 1, 17

class Trap:
    def __reduce__(self):
        return os.system, (f"touch {folder}/sprung",)

def text(content):
    return struct.pack("<Q", len(content)) + content

def number():
    return struct.unpack("<Q", store.recv(8, socket.MSG_WAITALL))[0]

trap = pickle.dumps(Trap())
store = socket.create_connection(("127.0.0.1", port))
store.sendall(struct.pack("<BI", VALIDATE, 0x3C85F7CE))
for key in ("0", "1", "group", "size", "unlike", "0//cpu//0/1", "torch.rendezvous.none"):
    store.sendall(bytes([SET]) + text(f"/{key}".encode()) + text(trap))
print("in", flush=True)
for heard in sys.stdin:
    if lists:
        store.sendall(bytes([LIST_KEYS]))
        for key in [store.recv(number(), socket.MSG_WAITALL) for _ in range(number())]:
            store.sendall(bytes([SET]) + text(key) + text(trap))
    for content in (trap, bytes(8), bytes([1, *bytes(7)]) + trap) if heard.strip() else ():
        try:
            with socket.create_connection(("127.0.0.1", int(heard)), timeout=1) as line:
                line.sendall(content)
                line.recv(1)
        except OSError:
            pass  # it was closed
"""


def listening(process: subprocess.Popen[bytes]) -> set[int]:
    """The ports on which a process listens."""
    with contextlib.suppress(psutil.Error):
        lines = psutil.Process(process.pid).net_connections("tcp")
        return {line.laddr.port for line in lines if line.status == psutil.CONN_LISTEN}
    return set()


@contextlib.contextmanager
def stranger(port: int, folder: str, lists: bool) -> Iterator[subprocess.Popen[bytes]]:
    """A process of another user, where the machine lets us, in the store before rank 1 is.

    It attacks the ports that it is told. lists: it overwrites all that it finds in the store, too.
    """
    other = NOBODY if os.getuid() == 0 and os.path.exists(SYSTEM_PYTHON) else None
    command = [SYSTEM_PYTHON if other else sys.executable, "-c", STRANGER]
    with subprocess.Popen(
        [*command, str(port), str(lists), folder],
        bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=other, cwd="/",
    ) as process:  # fmt: skip
        assert process.stdout and process.stdout.readline() == b"in\n"
        yield process
        process.kill()


@pytest.mark.parametrize("lists", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_stranger_among_the_replicas_runs_nothing(
    archive: Path, tmp_path: Path, lists: bool
) -> None:
    """He may spoil the training, which ends or waits then, but nothing that he sends is run."""
    given = flags(archive, tmp_path / "run", "--epochs", 3)
    chief, worker = ({"CLUSTER_SPEC": spec} for spec in cluster_specs(2))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        Path(folder).chmod(0o777)  # pytest's own are closed to others
        first = stack.enter_context(Replicas([chief], tmp_path / "first", *given))
        wait_until(lambda: bool(listening(first.processes[0])))
        known = listening(first.processes[0])
        he = stack.enter_context(stranger(*known, folder, lists))
        second = stack.enter_context(Replicas([worker], tmp_path / "second", *given))
        both = [*first.processes, *second.processes]
        end = time.monotonic() + 10  # by then they have ended, or wait for what he has overwritten
        while any(process.poll() is None for process in both) and time.monotonic() < end:
            new = set().union(*map(listening, both)) - known
            known |= new
            assert he.stdin
            with contextlib.suppress(BrokenPipeError):  # without the store he leaves
                he.stdin.write("".join(f"{port}\n" for port in [*new, ""]).encode())
            time.sleep(0.01)
        assert not Path(folder, "sprung").exists()
