"""Another user of the machine finds the replicas' ports: he is not let in, and runs nothing."""

from __future__ import annotations

import contextlib
import json
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
import torch.distributed as dist

from tests.training.pool import Pool, train_as
from tests.training.support import (
    Ended,
    Replicas,
    cluster_specs,
    save,
    table,
    train_nn,
    wait_until,
)

RENDEZVOUS = train_nn.companion("rendezvous")
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


# ---- who does not know the token -----------------------------------------------------------------
def with_token(rank: int, size: int, flags: tuple[Any, ...], tokens: tuple[bytes, ...]) -> Ended:
    """A replica that has got into the group, whatever token it knows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RENDEZVOUS, "TOKEN", tokens[rank])
        return train_as(rank, size, flags, join=RENDEZVOUS.prove_membership)


@pytest.mark.parametrize("tokens", [(b"x", b"x", b"y"), (b"", b"x", b"x"), (b"x", b"", b"")])
def test_a_replica_with_another_token_is_refused_by_all(
    pool: Pool, archive: Path, tmp_path: Path, tokens: tuple[bytes, ...]
) -> None:
    given = flags(archive, tmp_path / "run", "--epochs", 1)
    for ended in pool.run(3, with_token, given, tokens):
        assert (ended.code, ended.err) == (2, f"train_nn.py: {RENDEZVOUS.STRANGER}\n")
    assert not (tmp_path / "run/model.pt").exists()
    assert [ended.code for ended in pool.run(3, with_token, given, (b"x",) * 3)] == [0, 0, 0]


def test_an_address_that_somebody_else_wrote_into_the_store_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner = dist.HashStore()
    monkeypatch.setattr(RENDEZVOUS, "TOKEN", b"known")
    store = RENDEZVOUS.sealed(inner)
    store.set("rank 0", b"its address")
    assert store.get("rank 0") == b"its address"
    inner.set("rank 1", inner.get("rank 0"))  # sealed, but for another key
    inner.set("rank 2", b"another's address")
    for key in ("rank 1", "rank 2"):
        with pytest.raises(train_nn.Refused, match="JOB_TOKEN"):
            store.get(key)


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
def test_a_stranger_who_comes_before_a_replica_neither_takes_its_place_nor_runs_anything(
    archive: Path, tmp_path: Path, lists: bool
) -> None:
    """What he cannot name, he cannot spoil; where torch lists the keys, he can, but no more."""
    given = flags(archive, tmp_path / "run", "--epochs", 3)
    chief, worker = ({"CLUSTER_SPEC": spec, "JOB_TOKEN": "theirs"} for spec in cluster_specs(2))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        Path(folder).chmod(0o777)  # pytest's own are closed to others
        first = stack.enter_context(Replicas([chief], tmp_path / "first", *given))
        wait_until(lambda: bool(listening(first.processes[0])))
        known = listening(first.processes[0])
        he = stack.enter_context(stranger(*known, folder, lists))
        second = stack.enter_context(Replicas([worker], tmp_path / "second", *given))
        both = [*first.processes, *second.processes]
        while any(process.poll() is None for process in both) and he.stdin:
            new = set().union(*map(listening, both)) - known
            known |= new
            with contextlib.suppress(BrokenPipeError):  # without the store he leaves
                he.stdin.write("".join(f"{port}\n" for port in [*new, ""]).encode())
            time.sleep(0.01)
        codes, said = first.codes() + second.codes(), first.said(0) + second.said(0)
        assert not Path(folder, "sprung").exists()
    assert "Traceback" not in "".join(said)
    assert set(codes) <= {0, 1, 2}, said
    assert lists or codes == [0, 0], said
    assert (tmp_path / "run/model.pt").exists() == (codes == [0, 0])


def test_who_takes_the_port_first_learns_no_token_and_trains_with_nobody(
    archive: Path, tmp_path: Path
) -> None:
    chief, worker = cluster_specs(2)
    port = int(json.loads(chief)["cluster"]["workerpool0"][0].split(":")[1])
    store = dist.TCPStore("127.0.0.1", port, None, True, wait_for_workers=False)
    given, token = flags(archive, tmp_path / "run", "--epochs", 3), {"JOB_TOKEN": "theirs"}
    environments = [{"CLUSTER_SPEC": spec, **token} for spec in (chief, worker)]
    with Replicas(environments, tmp_path / "logs", *given) as running:
        assert running.processes[0].wait(60) == 2  # so that a service ends the job
        assert "already in use" in running.said(0)[-1]
        wait_until(lambda: len(store.list_keys()) > 0)
        said = [*store.list_keys(), *(store.get(key).decode() for key in store.list_keys())]
        assert "theirs" not in " ".join(said)
    assert not (tmp_path / "run/model.pt").exists()
