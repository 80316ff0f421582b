"""The server's end of the processes that have torch imported and fork replicas (fork_process.py).

Importing torch takes longer than many replicas train. For each replica that starts warm
(suitability.py) such a process gets a line with what is to run and the log's descriptor, forks, and
the child becomes the replica: its session, folder, environment, mounts and arguments are what an
ordinary start would give it.

How many threads torch uses is fixed when it is imported: there is a process for each number that
replicas get, one for the jobs of one replica and one for those of two. Linux only: elsewhere system
libraries do not survive a fork, and every replica is started.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_cloud.engine import machine
from local_cloud.engine.warm.fork_process import NOTE, ROOM

PROCESS = str(Path(__file__).with_name("fork_process.py"))
# torch's optimizers import torch._dynamo when the first of them is made (torch/_compile.py), which
# takes longer than many replicas train.
IMPORTED = ("numpy", "torch", "torch._dynamo")
MOST = 2  # processes at a time, of 220 MB each
IDLE = 600.0  # seconds without a new replica after which they end
FREE = 4e9  # bytes of memory; with less there is no such process
BEGINS = 60.0  # seconds that an import may take
FORKS = 10.0  # seconds that a fork may take
BYTES = 1 << 15  # of room for a replica's environment, as others see it
# Variables that the C library, Python and the imported modules read as they begin: a process is
# started with a replica's own.
EARLY = (
    "LANG",
    "LC_",
    "LD_",
    "GLIBC_",
    "MALLOC_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "TORCH",
    "PYTORCH_",
    "ATEN_",
    "ONEDNN_",
    "NPY_",
    "SYMPY_",
    "MPMATH_",
    "OPTREE_",
)
# Under a name of its own, so that "__main__" is the replica's. Standard input is the line.
START = """
import importlib.util, os, socket, sys
sys.path.pop(0)
spec = importlib.util.spec_from_file_location("fork_process", sys.argv[1])
module = sys.modules["fork_process"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.main(socket.socket(fileno=os.dup(0)), sys.argv[2:])
"""


def early(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a replica's environment that its process must begin with."""
    return {name: text for name, text in environment.items() if name.startswith(EARLY)}


class Forked:
    """A replica's process, as far as subprocess.Popen would know it."""

    def __init__(self, line: socket.socket) -> None:
        """line: on which its number comes, and when it has ended its exit code."""
        self._line = line
        self.pid = int(line.recv(16) or 0)
        if not self.pid:
            raise OSError("the process that forks replicas is gone")
        line.settimeout(None)  # it may run for days

    def wait(self) -> int:
        """Return its exit code, when it has ended; as Popen's, negative for a signal."""
        with self._line:
            if said := self._line.recv(16):
                return int(said)
        while _lives(self.pid):  # nobody is left to tell its code
            time.sleep(0.1)
        return -signal.SIGKILL


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class WarmProcess:
    """One process that has imported torch, from its start to its end."""

    def __init__(self, settings: Mapping[str, str], marks: Mapping[str, str]) -> None:
        """Start it and wait until it can fork, or has said that it cannot.

        settings: what it reads as it begins; marks: by which a server's processes are found.
        """
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {"PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1", **settings, **marks}
        with theirs, tempfile.TemporaryFile() as said:
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, PROCESS, *IMPORTED],
                stdin=theirs.fileno(),
                stdout=said,
                stderr=said,
                env={**environment, ROOM: " " * BYTES},
                cwd="/",
                start_new_session=True,
            )
        # Whenever it ends, it does not stay as a zombie.
        threading.Thread(target=self._process.wait, daemon=True).start()
        self._line.settimeout(BEGINS)
        try:
            self.can_fork = self._line.recv(1) == b"+"
        except TimeoutError:
            self.can_fork = False
        if not self.can_fork:
            self.kill()

    @property
    def pid(self) -> int:
        """Return its number."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Return whether it is gone, which somebody may have seen to."""
        return self._process.poll() is not None

    def fork(self, requested: Mapping[str, object], descriptors: Sequence[int]) -> Forked:
        """Have a replica forked. descriptors: its log, and the network that it enters."""
        log, *network = descriptors
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(FORKS)
        # A request may be longer than a packet: it goes through a file in memory.
        with theirs, open(os.memfd_create("request"), "w+", encoding="utf-8") as file:
            json.dump(requested, file)
            file.flush()
            socket.send_fds(self._line, [b"+"], [log, theirs.fileno(), file.fileno(), *network])
        try:
            return Forked(ours)
        except OSError:  # too late or gone; what it forks yet has nobody to tell, and ends
            ours.close()
            self.kill()
            raise

    def send_home(self) -> None:
        """End it as soon as the replicas that it has forked have ended."""
        self._line.close()

    def kill(self) -> None:
        """End it at once."""
        self._line.close()
        self._process.kill()
        self._process.wait()


class ForkServer:
    """The processes that fork, each of which is there while it is used.

    `mark` is the environment entry by which this server's processes are found, and not those of a
    server that has taken its place.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self.mark = {"LOCAL_CLOUD_RUN": secrets.token_hex(8)}
        self.free = FREE
        self.processes: dict[str, WarmProcess] = {}  # by early variables, the last used is last
        self._all: list[WarmProcess] = []
        self._starting = asyncio.Lock()
        self._rest: asyncio.TimerHandle | None = None
        self._is_able = True  # no process that was started was unable to fork

    async def ready(self, environment: Mapping[str, str]) -> None:
        """Have a process that can fork replicas with this environment, if there can be one."""
        settings = early(environment)
        key = json.dumps(settings, sort_keys=True)
        async with self._starting:
            warm = self.processes.pop(key, None)
            if warm and warm.has_ended:
                warm.send_home()
                warm = None
            if warm is None and self._is_able and machine.free_memory() >= self.free:
                warm = await asyncio.to_thread(WarmProcess, settings, self.mark)
                self._is_able = warm.can_fork
                self._all = [each for each in self._all if not each.has_ended] + [warm]
            if warm and warm.can_fork:
                self.processes[key] = warm
            while len(self.processes) > MOST:
                self.processes.pop(next(iter(self.processes))).send_home()
        if self._rest:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(IDLE, self._send_home)

    def fork(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: str,
        log: int,
        layout: Mapping[str, object] | None = None,
        first: str = "",
        network: Sequence[int] = (),
        note: str = NOTE,
        group: str = "",
    ) -> Forked:
        """Start a replica that writes into this log; OSError if no process can fork it.

        layout: what it sees of this machine, None: all; first: a shell's line that installs what
        the command runs; network: the namespaces of a network that it enters; note: the first line
        in the log; group: the folder of the control group that it joins.
        """
        process = self.processes.get(json.dumps(early(environment), sort_keys=True))
        if process is None:
            raise OSError("no process has been started for such a replica")
        requested = {
            "command": command,
            "environment": environment,
            "folder": folder,
            "layout": layout,
            "note": note,
            "first": first,
            "group": group,
        }
        return process.fork(requested, [log, *network])

    def _send_home(self) -> None:
        """End each as soon as the replicas that it has forked have ended."""
        for process in self.processes.values():
            process.send_home()
        self.processes.clear()

    def close(self) -> None:
        """End all; the replicas that they have forked have ended."""
        if self._rest:
            self._rest.cancel()
        self._send_home()
        for process in self._all:
            process.kill()
