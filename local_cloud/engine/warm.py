"""A process that has torch imported and forks replicas, which start in a moment.

The trials of a study are many runs of one script, and importing torch takes longer than many of
them train. `Warm` starts this file as a process of its own; for each replica it gets a line with
what is to run and the log's descriptor, forks, and the child becomes the replica: its session,
folder, environment, mounts and arguments are what an ordinary start would give it.

What differs: numpy and torch are there already, so what they read when they are imported (such as
OMP_NUM_THREADS) is set in other ways or not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import runpy
import select
import signal
import site
import socket
import subprocess
import sys
import time
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

IMPORTED = ("numpy", "torch")
IDLE = 60.0  # seconds without a new replica after which it ends: it takes 200 MB
PYTHONS = ("python", "python3")
JOB = "LOCAL_CLOUD_JOB"  # the variable by which the processes of a job are found
ROOM = 200  # bytes for its name
SURE = ("PYTHONPATH", "PYTHONUNBUFFERED")  # of Python's own variables, those that are followed
# As an ordinary script would have its own folder as the first place to import from.
START = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


def suits(command: Sequence[str], environment: Mapping[str, str], python: Path) -> bool:
    """Whether a forked process can stand for this command: a script or a module in Python.

    python: the interpreter of the job.
    """
    if sys.platform != "linux" or len(command) < 2:
        return False
    if command[0] not in (str(python), *PYTHONS):
        return False
    if any(name.startswith("PYTHON") and name not in SURE for name in environment):
        return False
    return command[1].endswith(".py") or (command[1] in ("-m", "-I") and len(command) > 2)


class Forked:
    """A replica's process, as far as subprocess.Popen would know it."""

    def __init__(self, line: socket.socket) -> None:
        """line: on which its number comes, and when it has ended its exit code."""
        self._line = line
        self.pid = int(line.recv(16) or 0)
        if not self.pid:
            raise OSError("the process that forks replicas is gone")

    def wait(self) -> int:
        """Its exit code, when it has ended; as Popen's, negative for a signal."""
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


class Warm:
    """The server's end of the line to the process that forks, which is there while it is used."""

    def __init__(self, marks: Mapping[str, str]) -> None:
        """marks: environment entries by which a server's processes are found."""
        self._environment = {"LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **marks, JOB: " " * ROOM}
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._starting = asyncio.Lock()
        self._rest: asyncio.TimerHandle | None = None

    async def ready(self) -> None:
        """Start the process if need be, and wait until it can fork (or cannot: without torch)."""
        async with self._starting:
            if self._process and self._process.poll() is not None:  # somebody killed it
                self._send_home()
            if self._line is None:
                await asyncio.to_thread(self._start)
        if self._rest:
            self._rest.cancel()
        self._rest = asyncio.get_running_loop().call_later(IDLE, self._send_home)

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, __file__, *IMPORTED],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                cwd="/",
                start_new_session=True,
            )
        if ours.recv(1):
            self._line = ours
        else:
            ours.close()

    def fork(
        self, command: Sequence[str], environment: Mapping[str, str], folder: str,
        mounts: Mapping[str, str], read_only: Sequence[str], log: int,
    ) -> Forked:  # fmt: skip
        """Start a replica that writes into this log; OSError if there is no process to fork."""
        if self._line is None:
            raise OSError("nothing is warm")
        asked = {
            "command": command, "environment": environment, "folder": folder, "mounts": mounts,
            "read_only": read_only,
        }  # fmt: skip
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A request may be longer than a packet: it goes through a file in memory.
        with theirs, open(os.memfd_create("request"), "w+", encoding="utf-8") as file:
            json.dump(asked, file)
            file.flush()
            socket.send_fds(self._line, [b"+"], [log, theirs.fileno(), file.fileno()])
        return Forked(ours)

    def _send_home(self) -> None:
        """It ends as soon as the replicas that it has forked have ended."""
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


# ---- in the process ------------------------------------------------------------------------------
def main() -> None:
    """Import, say so, and fork whenever asked, while somebody may ask; a child returns, too."""
    orders = socket.socket(fileno=os.dup(0))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is here lives to the end, in every child
    orders.send(b"+")
    lines: dict[int, tuple[int, socket.socket]] = {}  # by what tells of a child's end
    asking = [orders.fileno()]
    while asking or lines:
        for found in select.select([*asking, *lines], [], [])[0]:
            if found in lines:
                pid, line = lines.pop(found)
                os.close(found)
                with line, contextlib.suppress(OSError):
                    line.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
                continue
            _, descriptors, _, _ = socket.recv_fds(orders, 1, 3)
            if not descriptors:  # the server wants no more, or is gone
                asking.clear()
                break
            log, line = descriptors[0], socket.socket(fileno=descriptors[1])
            with open(descriptors[2], encoding="utf-8") as file:
                file.seek(0)
                asked = json.load(file)
            pid = os.fork()
            if pid == 0:
                orders.close()
                for watch, (_, other) in lines.items():
                    os.close(watch)
                    other.close()
                become(asked, log, line)
                return
            os.close(log)
            lines[os.pidfd_open(pid)] = pid, line


def become(asked: Mapping[str, Any], log: int, line: socket.socket) -> None:
    """Run a replica's command in this process."""
    os.setsid()
    with line:
        line.send(str(os.getpid()).encode())
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, target in enumerate((nothing, log, log)):
        os.dup2(target, stream)
    os.close(nothing)
    os.close(log)
    os.chdir(asked["folder"])
    if asked["mounts"]:
        namespace().enter(asked["mounts"], asked["read_only"])
    environment = asked["environment"]
    os.environ.clear()
    os.environ.update(environment)
    mark(environment.get(JOB, ""))
    enter_environment(environment["VIRTUAL_ENV"])
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # else all would draw the same numbers
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(int(environment.get("OMP_NUM_THREADS") or 1))
        torch.default_generator.seed()
    _, *words = asked["command"]
    if apart := words[0] == "-I":
        del words[0]
    else:
        paths = environment.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = filter(None, paths)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    try:
        if words[0] == "-m":
            sys.argv = words[1:]
            sys.path.insert(0, os.getcwd())
            runpy._run_module_as_main(words[1])  # type: ignore[attr-defined] # as Python itself does
        else:
            sys.argv = words
            if not apart:
                sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
            main.__file__ = words[0]
            exec(compile(source(words[0]), words[0], "exec"), main.__dict__)
    except Exception as problem:  # noqa: BLE001 - the script's own
        trace = problem.__traceback__
        problem.__traceback__ = trace and trace.tb_next  # without this file's part
        sys.excepthook(type(problem), problem, problem.__traceback__)
        sys.exit(1)


def enter_environment(folder: str) -> None:
    """Be the Python of a virtual environment, as if its own bin/python had been started."""
    theirs = {*site.getsitepackages(), site.getusersitepackages()}
    sys.path[:] = [each for each in sys.path if each not in theirs]
    sys.executable = f"{folder}/bin/python"
    sys.prefix = sys.exec_prefix = folder
    site.PREFIXES[:] = [folder]
    site.ENABLE_USER_SITE = False
    for each in site.getsitepackages():
        site.addsitedir(each)  # the others come behind, by a .pth file of the environment's


def mark(job: str) -> None:
    """Write the job's name over the room for it in the environment that this process began with.

    Others see no later one: by it they find what this process forks and sets apart from its group.
    """
    place = Path("/proc/self/environ").read_bytes().find(f"{JOB}={' ' * ROOM}".encode())
    start = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[47])  # env_start
    name = os.fsencode(job)
    if place >= 0 and start and len(name) <= ROOM:
        ctypes.memmove(start + place + len(JOB) + 1, name.ljust(ROOM, b"\0"), ROOM)


def source(path: str) -> bytes:
    """A script's text, or what Python itself says when there is none."""
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        print(f"{sys.executable}: can't open file {path!r}: {problem.strerror}", file=sys.stderr)
        sys.exit(2)


def namespace() -> Any:
    """What gives a process its mounts; nothing of the local cloud's is left to be imported."""
    path = Path(__file__).with_name("namespace.py")
    spec = importlib.util.spec_from_file_location("namespace", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.path.pop(0)  # the folder in which it was started
    main()
