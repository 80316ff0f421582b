"""What a launcher, a Python program in a job, starts its own programs with: forked if they can be.

Runs inside a job with the standard library only. fork_process.py is at the other end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import IO

LAUNCHED = "LOCAL_CLOUD_LAUNCHED"


class Program:
    """A forked program, as far as subprocess.Popen would know it."""

    def __init__(self, line: socket.socket, stdout: IO[bytes]) -> None:
        """line: on which its number comes, and when it has ended its exit code."""
        self._line, self.stdout = line, stdout
        self.pid = int(line.recv(16) or 0)
        if not self.pid:
            raise OSError("what forks programs is gone")

    def wait(self) -> int:
        """Return its exit code, when it has ended; negative: the signal that ended it."""
        with self._line:
            return int(self._line.recv(16) or -signal.SIGKILL)  # nobody is left to tell its code


def start(command: Sequence[str]) -> Program | subprocess.Popen[bytes]:
    """Start a program whose output and errors are to be read from its `stdout`."""
    try:
        if suits(command):
            return fork(command)
    except OSError:
        pass
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def suits(command: Sequence[str]) -> bool:
    """Return whether a program can be forked: Python's, in an environment as the job found it."""
    installed = any(Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    is_script = command[0] == sys.executable and command[1].endswith(".py")
    return is_script and LAUNCHED in os.environ and not installed


def fork(command: Sequence[str]) -> Program:
    """Have a program forked."""
    variables = {name: text for name, text in os.environ.items() if name != LAUNCHED}
    requested = {"command": command, "environment": variables, "folder": os.getcwd()}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    read, write = os.pipe()
    with (
        theirs,
        open(os.memfd_create("request"), "w+", encoding="utf-8") as file,
        open(write, "wb") as output,
        socket.socket(fileno=os.dup(int(os.environ[LAUNCHED]))) as orders,
    ):
        json.dump(requested, file)
        file.flush()
        socket.send_fds(orders, [b"+"], [output.fileno(), theirs.fileno(), file.fileno()])
    return Program(ours, open(read, "rb"))
