"""The server's end of the process that has torch imported and forks replicas (fork_process.py).

The trials of a study are many runs of one script, and importing torch takes longer than many of
them train. For each replica the process gets a line with what is to run and the log's descriptor,
forks, and the child becomes the replica: its session, folder, environment, mounts and arguments
are what an ordinary start would give it.

What differs: numpy and torch are imported already, and numpy's own linear algebra (OpenBLAS) works
on one thread, for it makes its threads on import, and a process with threads must not be forked.
Linux only: elsewhere system libraries do not survive a fork, and every replica is started.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_cloud.engine import system
from local_cloud.engine.jobs.fork_process import JOB, ROOM

PROCESS = str(Path(__file__).with_name("fork_process.py"))
IMPORTED = ("numpy", "torch")
IDLE = 60.0  # seconds without a new replica after which it ends: it takes 200 MB
PYTHONS = ("python", "python3")
FOLLOWED = ("PYTHONPATH", "PYTHONUNBUFFERED")  # of Python's own variables
# Variables that the C library, Python and the imported modules read as they begin: the process
# is started with a replica's own.
EARLY = (
    *("LANG", "LC_", "LD_", "GLIBC_", "MALLOC_"),
    *(
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
    ),
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


def suits(command: Sequence[str], environment: Mapping[str, str], python: Path) -> bool:
    """Return whether a forked process can stand for this command: a script or a module in Python.

    python: the interpreter of the job.
    """
    if not system.LINUX or len(command) < 2 or command[0] not in (str(python), *PYTHONS):
        return False
    if any(name.startswith("PYTHON") and name not in FOLLOWED for name in environment):
        return False
    return command[1].endswith(".py") or (command[1] in ("-m", "-I") and len(command) > 2)


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


class ForkServer:
    """The server's end of the line to the process that forks, which is there while it is used."""

    def __init__(self, marks: Mapping[str, str]) -> None:
        """Keep marks: environment entries by which a server's processes are found."""
        self._marks = marks
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._early: Mapping[str, str] = {}  # what the process was started with
        self._starting = asyncio.Lock()
        self._rest: asyncio.TimerHandle | None = None

    async def ready(self, environment: Mapping[str, str]) -> None:
        """Have a process that can fork replicas with this environment, if there can be one.

        One that was started for another environment ends with the replicas that it has forked.
        """
        async with self._starting:
            if self._process and self._process.poll() is not None:  # somebody killed it
                self._send_home()
            if self._early != early(environment):
                self._send_home()
            if self._line is None:
                await asyncio.to_thread(self._start, early(environment))
        if self._rest:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(IDLE, self._send_home)

    def _start(self, settings: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # The room for the job's name is last: what fills it up looks like the end.
            environment = {"PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1", **settings}
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, PROCESS, *IMPORTED],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**environment, **self._marks, JOB: " " * ROOM},
                cwd="/",
                start_new_session=True,
            )
        self._early = settings
        # Whenever it ends, it does not stay as a zombie.
        threading.Thread(target=self._process.wait, daemon=True).start()
        if ours.recv(1):
            self._line = ours
        else:
            ours.close()

    def fork(
        self, command: Sequence[str], environment: Mapping[str, str], folder: str,
        mounts: Mapping[str, str], read_only: Sequence[str], log: int,
        hosts: Sequence[str] = (), network: Sequence[int] = (),
    ) -> Forked:  # fmt: skip
        """Start a replica that writes into this log; OSError if no process can fork it.

        hosts: names of loopback; network: the namespaces of a network that it enters.
        """
        if self._line is None or self._early != early(environment):
            raise OSError("no process has been started for such a replica")
        requested = {
            "command": command, "environment": environment, "folder": folder, "mounts": mounts,
            "read_only": read_only, "hosts": hosts,
        }  # fmt: skip
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A request may be longer than a packet: it goes through a file in memory.
        with theirs, open(os.memfd_create("request"), "w+", encoding="utf-8") as file:
            json.dump(requested, file)
            file.flush()
            socket.send_fds(self._line, [b"+"], [log, theirs.fileno(), file.fileno(), *network])
        return Forked(ours)

    def _send_home(self) -> None:
        """End it as soon as the replicas that it has forked have ended."""
        if self._line:
            self._line.close()
            self._line = None

    def close(self) -> None:
        """End it; the replicas that it has forked have ended."""
        if self._rest:
            self._rest.cancel()
        self._send_home()
        if self._process:
            self._process.kill()
            self._process.wait()
