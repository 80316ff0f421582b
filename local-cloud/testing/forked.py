"""Start a Python script as a process that is forked from one that has torch imported.

Importing torch takes longer than most replicas in these tests train. The fork is the engine's own
(local_cloud/engine/warm/fork_server.py), whose tests show that such a process is as a started one.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from local_cloud.engine import system
from local_cloud.engine.warm import fork_server

servers: dict[frozenset[tuple[str, str]], fork_server.ForkServer] = {}  # by early environment


class Process:
    """A forked process, as far as subprocess.Popen would know it."""

    def __init__(self, forked: fork_server.Forked) -> None:
        self.pid = forked.pid
        self.returncode: int | None = None
        self._forked = forked
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def _watch(self) -> None:
        self.returncode = self._forked.wait()

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when it has ended."""
        self._watching.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            if self.returncode is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def start(
    words: Sequence[str], environment: Mapping[str, str], log: BinaryIO
) -> Process | subprocess.Popen[bytes]:
    """Start a script with its arguments in exactly this environment, with its output in the log.

    On a machine with GPUs it sees none.
    """
    command = [sys.executable, *words]
    environment = {"CUDA_VISIBLE_DEVICES": "", **environment}
    if not system.LINUX:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    early = frozenset(fork_server.early(environment).items())
    if early not in servers:
        servers[early] = fork_server.ForkServer()
        servers[early].free = 0  # whatever else this machine does
        atexit.register(servers[early].close)
        asyncio.run(servers[early].ready(environment))
    inside = {**environment, "VIRTUAL_ENV": sys.prefix}
    forked = servers[early].fork(command, inside, folder=os.getcwd(), log=log.fileno(), note="")
    return Process(forked)
