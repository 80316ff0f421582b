"""The process that has torch imported and forks replicas: `ForkServer` starts `main` here.

Runs in a job's process with the standard library only: nothing of the local cloud is imported.

A fork copies one thread. A pool of threads that was made before the fork is broken in the child,
which then fails or hangs by chance: torch's own does. So a process forks only while it has one
thread, which `may_fork` checks, and has imported torch and done nothing with it. Nothing here
calls torch: the number of threads is in the environment that this process was started with.
"""

from __future__ import annotations

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
import sys
import time
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

JOB = "LOCAL_CLOUD_JOB"  # the variable by which the processes of a job are found
ROOM = 200  # bytes for its name
DESCRIPTORS = 5  # of a request: the log, the line, the request, a network's namespaces


def may_fork() -> bool:
    """Return whether a child of this process would be whole: it has no thread but this one."""
    return len(os.listdir("/proc/self/task")) == 1


def main(orders: socket.socket, modules: Sequence[str]) -> None:
    """Import the modules, say so, and fork whenever asked; a child returns, too.

    Ends when the other side has closed and the replicas that were forked have ended.
    """
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is here lives to the end, in every child
    if not may_fork():  # a module that starts threads when it is imported
        return
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
            _, descriptors, _, _ = socket.recv_fds(orders, 1, DESCRIPTORS)
            if not descriptors:  # the server wants no more, or is gone
                asking.clear()
                break
            log, number, request, *network = descriptors
            line = socket.socket(fileno=number)
            with open(request, encoding="utf-8") as file:
                file.seek(0)
                requested = json.load(file)
            pid = os.fork()
            if pid == 0:
                orders.close()
                for watch, (_, other) in lines.items():
                    os.close(watch)
                    other.close()
                become(requested, log, line, network)
                return
            for each in (log, *network):
                os.close(each)
            lines[os.pidfd_open(pid)] = pid, line


def become(
    requested: Mapping[str, Any], log: int, line: socket.socket, network: Sequence[int]
) -> None:
    """Turn this process into a replica, and run its command."""
    os.setsid()
    with line:
        line.send(str(os.getpid()).encode())
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, target in enumerate((nothing, log, log)):
        os.dup2(target, stream)
    os.close(nothing)
    os.close(log)
    os.chdir(requested["folder"])
    adopt(requested["environment"])
    if network:
        isolation("network_namespace").enter(network)
    if requested["mounts"]:
        isolation("namespace").enter(
            requested["mounts"], requested["read_only"], requested["hosts"]
        )
    enter_environment(os.environ["VIRTUAL_ENV"])
    mark(os.environ.get(JOB, ""))
    _, *words = requested["command"]
    if apart := words[0] == "-I":
        del words[0]
    else:
        sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    run(words, apart)


def adopt(environment: Mapping[str, str]) -> None:
    """Take on an environment, and redo what was derived from the one before."""
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # else all would draw the same numbers
    if torch := sys.modules.get("torch"):
        torch.default_generator.seed()
    if process := sys.modules.get("multiprocessing.process"):
        vars(process)["ORIGINAL_DIR"] = os.getcwd()  # where its children look for the script


def enter_environment(folder: str) -> None:
    """Become the Python of a virtual environment, as if its own bin/python had been started."""
    theirs = {*site.getsitepackages(), site.getusersitepackages()}
    sys.path[:] = [each for each in sys.path if each not in theirs]
    sys.executable = f"{folder}/bin/python"
    sys.prefix = sys.exec_prefix = folder
    site.PREFIXES[:] = [folder]
    site.ENABLE_USER_SITE = False
    for each in site.getsitepackages():
        site.addsitedir(each)  # the others come behind, by a .pth file of the environment's


def run(words: Sequence[str], apart: bool = False) -> None:
    """Run a script, or `-m` and a module, with these arguments, as Python would have started it.

    apart: Python's -I, so that the script's folder is not on the path.
    """
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    try:
        if words[0] == "-m":
            sys.argv = list(words[1:])
            sys.path.insert(0, os.getcwd())
            runpy._run_module_as_main(words[1])  # type: ignore[attr-defined] # as Python itself does
        else:
            sys.argv = list(words)
            if not apart:
                sys.path.insert(0, os.path.dirname(os.path.realpath(words[0])))
            main.__file__ = os.path.abspath(words[0])
            # dont_inherit: this file's `from __future__` is not the script's.
            code = compile(source(words[0]), main.__file__, "exec", dont_inherit=True)
            exec(code, main.__dict__)
    except Exception as problem:  # noqa: BLE001 - the script's own
        trace = problem.__traceback__
        problem.__traceback__ = trace and trace.tb_next  # without this file's part
        sys.excepthook(type(problem), problem, problem.__traceback__)
        sys.exit(1)


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
    """Return a script's text, or what Python itself says when there is none."""
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        print(f"{sys.executable}: can't open file {path!r}: {problem.strerror}", file=sys.stderr)
        sys.exit(2)


def isolation(name: str) -> Any:
    """Load a module of the room `isolation`: what gives a process its network, or its mounts."""
    path = Path(__file__).parents[1] / "isolation" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fork_to_run(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], pipe: tuple[int, int]
) -> int | None:
    """Fork this process, a replica, once more to run a script in this folder; the child's id.

    pipe: its errors go to the second end. None: a child would not be whole, start it otherwise.
    """
    if not may_fork():
        return None
    if pid := os.fork():
        return pid
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(pipe[1], 2)
    for end in pipe:  # which another program would not have inherited
        os.close(end)
    os.chdir(folder)
    adopt(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    run(words)
    sys.exit()
