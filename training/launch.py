"""Start the replicas of this machine, and start them again from the checkpoint when one is lost."""

# torch.distributed.elastic starts and watches replicas, too, but
# - at the first failure it sends SIGTERM to the others, before they can say why they end;
# - it gives each replica a session of its own: Ctrl-C in a terminal does not reach it, nor does the
#   signal with which a service stops the process group;
# - it imports torch, a second and 150 MB, to wait for processes.

from __future__ import annotations

import contextlib
import errno
import math
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

story: Any  # train_nn.py, which loads this file

RESTART = 134  # the exit code that asks for another start, as the story's
FINAL = (1, 2, 130)  # exit codes that another start would not change
TRIES = 3  # in a row from the same checkpoint; torch counts all, and a long training has many
LEAVING = 5.0  # seconds in which a killed replica may still hold its port
NOTICING = 10.0  # seconds in which the replicas notice by themselves that one is lost
SPINS = "2000"  # looks of a waiting thread at its work before it sleeps (benchmarks/README.md)
WATCHED = "TRAIN_NN_WATCHED"  # set for the replicas that this file starts; 1: they start again

door: socket.socket | None = None  # rank 0's, until rendezvous.py takes it
line: socket.socket | None = None  # to what watches this process
restarts = os.environ.get(WATCHED) == "1"


class Replica(NamedTuple):
    """A process that trains, and the line to it: when one side ends, the other leaves too."""

    process: subprocess.Popen[bytes]
    line: socket.socket  # on which it says from which checkpoint it resumed


def start(flags: Any) -> None:
    """Prepare this process before torch is imported, or watch this machine's replicas instead."""
    global door, line
    try:
        place = {**os.environ, **story.find_rank(os.environ)}
        size = int(place.get("WORLD_SIZE") or 1)
        if here := count_replicas(flags, os.environ):
            sys.exit(watch(place, size, here, bool(flags.checkpoint_every)))
        door = listen(place) if size > 1 else None
    except (story.Refused, OSError) as problem:
        complain(str(problem))
        sys.exit(2)
    if WATCHED in os.environ:
        line = hold_line()
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    if size > 1:  # of a lost connection torch would print its C++ stack
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(*signal_and_frame: Any) -> None:
    """Leave on Ctrl-C without a traceback while the story still imports torch."""
    if not hasattr(story, "main"):
        os._exit(130)
    signal.default_int_handler(*signal_and_frame)


def complain(sentence: str) -> None:
    """Say what went wrong: in one write, so that the lines of several replicas stay apart."""
    sys.stderr.write(f"train_nn.py: {sentence}\n")
    sys.stderr.flush()


# ---- what this process has to do -----------------------------------------------------------------
def count_gpus(env: Mapping[str, str]) -> int:
    """Return how many NVIDIA GPUs are visible; CUDA's own variable goes before the driver."""
    if (named := env.get("CUDA_VISIBLE_DEVICES")) is not None:
        return len([gpu for gpu in named.split(",") if gpu.strip() not in ("", "-1")])
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def count_replicas(flags: Any, env: Mapping[str, str]) -> int:
    """Return how many replicas this process has to start and watch; 0: it is a replica itself."""
    found = story.find_rank(env)
    if "TORCHELASTIC_RUN_ID" in env or (not found and int(env.get("WORLD_SIZE") or 1) > 1):
        return 0  # started by torchrun, by another launcher of that kind, or by this file
    gpus = count_gpus(env) if flags.device in ("auto", "cuda") else 0
    if gpus > 1:
        return gpus
    return 1 if found and flags.checkpoint_every else 0


def listen(place: Mapping[str, str]) -> socket.socket | None:
    """Open rank 0's socket, before torch is imported: who is refused tries again a second later.

    torch would open it to all networks; replicas of one machine need none. The port may be held
    for a moment by the replica that was killed before this one.
    """
    if int(place["RANK"]) or place.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return None
    host, end = place["MASTER_ADDR"], time.monotonic() + LEAVING
    address = host if host in ("127.0.0.1", "localhost") else "", int(place["MASTER_PORT"])
    while True:
        try:
            return socket.create_server(address)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE or time.monotonic() > end:
                raise
        time.sleep(0.1)


# ---- watching ------------------------------------------------------------------------------------
def watch(place: Mapping[str, str], machines: int, here: int, again: bool) -> int:
    """Start this machine's replicas and watch them; return the exit code of them all."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = str(probe.getsockname()[1])
    common = {
        "WORLD_SIZE": str(machines * here),
        "LOCAL_WORLD_SIZE": str(here),
        "MASTER_ADDR": place["MASTER_ADDR"] if machines > 1 else "127.0.0.1",
        "MASTER_PORT": place["MASTER_PORT"] if machines > 1 else free,
        "TORCHELASTIC_RUN_ID": "none",  # torchrun's own default; find_rank() looks for it
        "JOB_TOKEN": os.environ.get("JOB_TOKEN", "" if machines > 1 else secrets.token_hex()),
        WATCHED: str(int(again)),
    }
    first = int(place["RANK"]) * here if machines > 1 else 0
    environments = [
        {**common, "RANK": str(first + local), "LOCAL_RANK": str(local)} for local in range(here)
    ]
    return supervise([sys.executable, story.__file__, *sys.argv[1:]], environments, again)


def start_replicas(
    command: Sequence[str], environments: Sequence[Mapping[str, str]]
) -> list[Replica]:
    """Start the command once with each of these environments; several share the cores."""
    replicas, cores = [], max(1, (os.cpu_count() or 1) // len(environments))
    threads = {"OMP_NUM_THREADS": str(cores)} if len(environments) > 1 else {}
    for environment in environments:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                command, stdin=theirs.fileno(), env={**threads, **os.environ, **environment}
            )
        replicas.append(Replica(process, ours))
    return replicas


def wait_for(replicas: Sequence[Replica]) -> int:
    """Return the exit code of all when all have ended, and kill what outlives a failure too long.

    A code that says more than that something ended goes before the others: a start would not help.
    """
    killing = math.inf
    while None in (codes := [replica.process.poll() for replica in replicas]):
        if any(codes) and killing == math.inf:
            killing = time.monotonic() + NOTICING
        if time.monotonic() > killing:
            for replica in replicas:
                replica.process.kill()
        time.sleep(0.02)
    return next((code for code in codes if code in FINAL), next(filter(None, codes), 0))


def supervise(
    command: Sequence[str], environments: Sequence[Mapping[str, str]], again: bool
) -> int:
    """Run the command once with each environment, and return the exit code of them all.

    again: whether they leave checkpoints, so that another start is of use.
    """
    replicas: list[Replica] = []
    asked: list[int] = []

    def ask(number: int, _: object) -> None:
        asked.append(number)
        for replica in replicas:
            replica.process.send_signal(number)

    before = signal.signal(signal.SIGTERM, ask), signal.getsignal(signal.SIGINT)
    tries, known = TRIES, 0
    try:
        while True:
            replicas[:] = start_replicas(command, environments)
            if asked:  # before they were known
                ask(asked[0], None)
            code = wait_for(replicas)
            if code in (0, *FINAL) or not again:
                return code if code >= 0 else 128 - code
            if asked:
                return RESTART
            reached = max([resumed_from(replica) for replica in replicas])
            tries = TRIES if reached > known else tries - 1
            known = max(known, reached)
            if not tries:
                return RESTART
            complain("a replica was lost; this machine's replicas start again from the checkpoint")
    except KeyboardInterrupt:  # from a terminal the replicas hear it, too
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
        time.sleep(1)
        for replica in replicas:
            replica.process.send_signal(signal.SIGINT)
        wait_for(replicas)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


def resumed_from(replica: Replica) -> int:
    """Return the number of the checkpoint from which an ended replica resumed; 0: from none."""
    with replica.line, contextlib.suppress(OSError):
        return int(replica.line.recv(99, socket.MSG_DONTWAIT) or 0)
    return 0


# ---- being watched -------------------------------------------------------------------------------
def hold_line() -> socket.socket:
    """Return a replica's end of the line; the replica leaves when what started it is gone."""
    own = socket.socket(fileno=os.dup(0))

    def look() -> None:
        with contextlib.suppress(OSError):
            while own.recv(1):
                pass
        os._exit(RESTART)

    threading.Thread(target=look, daemon=True).start()
    return own


def report(checkpoint: int) -> None:
    """Tell what watches this process, if anything does, from which checkpoint it resumed."""
    if line:
        line.send(str(checkpoint).encode())
