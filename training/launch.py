"""Start the replicas of this machine, and start them again from the checkpoint when one is lost."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

RESTART = 134  # the exit code that asks for another start, as the script's
FINAL = (1, 2, 130)  # exit codes that another start would not change
TRIES = 3  # in a row from the same checkpoint
NOTICING = 10.0  # seconds in which the replicas notice by themselves that one is lost


class Replica(NamedTuple):
    """A process that trains, and the line to it: when one side ends, the other leaves too."""

    process: subprocess.Popen[bytes]
    line: socket.socket  # on which it says from which checkpoint it resumed


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
    command: Sequence[str],
    environments: Sequence[Mapping[str, str]],
    restarts: bool,
    complain: Callable[[str], None],
) -> int:
    """Run the command once with each environment, and return the exit code of them all.

    restarts: whether they leave checkpoints, so that another start is of use.
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
            if code in (0, *FINAL) or not restarts:
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


def hold_line() -> socket.socket:
    """Return a replica's end of the line; the replica leaves when what started it is gone."""
    line = socket.socket(fileno=os.dup(0))

    def watch() -> None:
        with contextlib.suppress(OSError):
            while line.recv(1):
                pass
        os._exit(RESTART)

    threading.Thread(target=watch, daemon=True).start()
    return line
