"""Kernels for the tests: each reached by socket files, not by ports that others may take first.

Those for the notebooks and tests of `make test` are forked, where a source of kernels runs.

The source (tests/kernel_source.py) belongs to the whole run; its workers find it in the
environment. Where there is none (one notebook alone, another system), kernels are started.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest
import traitlets
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import local_provisioner
from nbval import kernel as nbval_kernel

from tests.kernel_source import ALONE

IMPORTED = (
    "ipykernel.kernelapp",
    "IPython",
    "numpy",
    "pandas",
    "sklearn.model_selection",
    "torch",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "sklearn.preprocessing",
    "boto3",
    "google.cloud.storage",
    "google.cloud.aiplatform",
    "sagemaker.core.resources",
    "sagemaker.train",
    "sagemaker.train.tuner",
    "torch.utils.tensorboard",
)
FILE = str(Path(__file__).with_name("kernel_source.py"))
SOURCE = "NOTEBOOK_KERNELS"  # the variable with the source's socket
_start = local_provisioner.launch_kernel


class Manager(KernelManager):
    """Gives a kernel names of socket files. A port that was free when it was looked for may be
    another process's when the kernel binds it, seconds later.
    """

    @traitlets.default("transport")
    def _transport(self) -> str:
        return "ipc"

    @traitlets.default("ip")
    def _ip(self) -> str:
        return str(Path(tempfile.gettempdir(), f"kernel-{uuid.uuid4().hex}"))


nbval_kernel.KernelManager = Manager
start = nbval_kernel.start_new_kernel  # a kernel that is ready: its manager, and its client


class Source:
    """The process that forks kernels, with its socket."""

    def __init__(self, modules: Sequence[str] = IMPORTED) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kernels-")
        path = str(Path(self._folder.name, "socket"))
        self._variable = pytest.MonkeyPatch()
        self._variable.setenv(SOURCE, path)
        # It listens at once: who asks before the imports are done waits for them.
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            listener.listen()
            self._process = subprocess.Popen(
                [sys.executable, FILE, str(listener.fileno()), *modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=os.environ | ALONE,
                pass_fds=[listener.fileno()],
            )

    def close(self) -> None:
        """End it; no kernel is left."""
        self._process.communicate()
        self._folder.cleanup()
        self._variable.undo()


class Forked:
    """A kernel's process, as far as jupyter_client uses subprocess.Popen."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._process = os.pidfd_open(pid)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """0 when it has ended: its exit code is known to nobody, and asked for by nobody."""
        if self.returncode is None:
            if not select.select([self._process], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("the kernel", timeout or 0)
            os.close(self._process)
            self.returncode = 0
        return self.returncode

    def poll(self) -> int | None:
        """The same, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._process, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


def launch(
    cmd: Sequence[str],
    *,
    env: dict[str, str],
    cwd: str = "",
    stderr: IO[str] | None = None,
    **more: Any,
) -> Forked | subprocess.Popen[bytes]:
    """What jupyter_client calls to start a kernel."""
    if SOURCE in os.environ and cmd[1:3] == ["-m", "ipykernel_launcher"]:
        try:
            return fork({"arguments": cmd[3:], "folder": cwd or os.getcwd(), "environment": env})
        except OSError as problem:  # the source has ended, and has said why
            print(f"a kernel is started, not forked: {problem}", file=sys.stderr)
    started: subprocess.Popen[bytes] = _start(cmd, cwd=cwd or None, env=env, stderr=stderr, **more)
    return started


def fork(request: dict[str, Any]) -> Forked:
    """Have the source fork a kernel; OSError if it has ended."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line,
        open(os.devnull, "r+b", buffering=0) as null,
    ):
        line.connect(os.environ[SOURCE])
        socket.send_fds(line, [json.dumps(request).encode()], [null.fileno()] * 3)
        if not (pid := line.recv(16)):
            raise OSError("the source of kernels has ended")
        return Forked(int(pid))


def replace_launch() -> None:
    """Have jupyter_client fork kernels where it can."""
    local_provisioner.launch_kernel = launch
