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
import subprocess
import sys
import time
import types
from collections.abc import Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, Protocol

LAUNCHED = "LOCAL_CLOUD_LAUNCHED"  # the variable with a launcher's line to what forks for it
ROOM = "LOCAL_CLOUD_ROOM"  # the variable that keeps room where /proc shows an environment
MARKS = ("LOCAL_CLOUD_ENGINE", "LOCAL_CLOUD_RUN", "LOCAL_CLOUD_JOB")  # find a job's processes
DESCRIPTORS = 5  # of a request: the log, the line, the request, a network's namespaces
NOTE = "local cloud: started warm, with torch imported"
PTH = "zz_local_cloud.pth"  # of every job's environment: environments/job_environment.py
# Python runs these as it begins, from wherever they are on its path.
CUSTOMIZING = frozenset({"sitecustomize", "usercustomize"})
# What stands before and behind the names of OpenBLAS's functions, in NumPy's builds of it.
OPENBLAS = (("", ""), ("", "64_"), ("scipy_", ""), ("scipy_", "64_"))


class Begin(Protocol):
    """What a forked child does."""

    def __call__(
        self, requested: Mapping[str, Any], log: int, *, line: socket.socket, network: Sequence[int]
    ) -> None:
        """Begin what is requested, and write into this log."""


def may_fork() -> bool:
    """Return whether a child of this process would be whole: it has no thread but this one."""
    return len(os.listdir("/proc/self/task")) == 1


def main(orders: socket.socket, modules: Sequence[str]) -> None:
    """Import the modules, say so, and fork whenever asked; a child returns, too."""
    gc.disable()  # what an import makes stays: looking for garbage takes a fifth of torch's
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is here lives to the end, in every child
    gc.enable()
    # Not where an import starts threads, nor where it writes what belongs into each job's log.
    if may_fork() and not os.fstat(2).st_size:
        orders.send(b"+")
        serve(orders, become)


def serve(orders: socket.socket, begin: Begin) -> bool:
    """Fork whenever asked; a child calls begin with what is asked of it, and returns True.

    Return False when the other side has closed and the processes that were forked have ended.
    """
    lines: dict[int, tuple[int, socket.socket]] = {}  # by what tells of a child's end
    asking = [orders.fileno()]
    while asking or lines:
        for ready in select.select([*asking, *lines], [], [])[0]:
            if ready in lines:
                pid, line = lines.pop(ready)
                os.close(ready)
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
                begin(requested, log, line=line, network=network)
                return True
            for each in (log, *network):
                os.close(each)
            lines[os.pidfd_open(pid)] = pid, line
    return False


def become(
    requested: Mapping[str, Any], log: int, *, line: socket.socket, network: Sequence[int]
) -> None:
    """Turn this process into a replica, and run its command."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if requested["group"]:
        isolation("launcher").join_group(requested["group"])
    take_over(requested, log, line)
    if network:
        isolation("network_namespace").enter(network)
    if requested["layout"]:
        isolation("launcher").enter_or_exit(requested["layout"])
    command = requested["command"]
    if requested["first"]:
        run_first(requested["first"])
        if torch_would_notice(packages_of(os.environ["VIRTUAL_ENV"])):
            replace_by(command)
    enter_environment(os.environ["VIRTUAL_ENV"], command[0])
    if os.path.basename(command[0]).startswith("python"):
        run(command, requested["note"])
    else:
        leave_for(command)


def take_over(requested: Mapping[str, Any], log: int, line: socket.socket) -> None:
    """Say which process this is, and take its output, its folder and its environment."""
    with line:
        line.send(str(os.getpid()).encode())
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.chdir(requested["folder"])
    adopt(requested["environment"])


def run_first(line: str) -> None:
    """Run a shell's line, and return in the process that becomes what the shell runs next.

    It has the variables that the shell would give it. Some shells start the last program of a line,
    and others become it. Exit as the shell does if the line fails.
    """
    show(["sh", "-c", line], os.environ)
    with open(os.memfd_create("said"), "w+", encoding="utf-8", errors="surrogateescape") as file:
        look = f"cat /proc/self/environ /proc/self/stat > /proc/self/fd/{file.fileno()}"
        shell = subprocess.Popen(["sh", "-c", f"{line} && {look}"], pass_fds=[file.fileno()])
        exit_as_shell(shell.wait())
        *variables, stat = file.read().split("\0")
    if int(stat.split()[0]) != shell.pid and (program := os.fork()):
        exit_as_shell(os.waitstatus_to_exitcode(os.waitpid(program, 0)[1]))
        os._exit(0)
    adopt(dict(each.split("=", 1) for each in variables))


def exit_as_shell(code: int) -> None:
    """Exit as a shell whose program has ended with this code; return if that is 0."""
    if code < 0:
        if -code not in (signal.SIGINT, signal.SIGPIPE):
            print(signal.strsignal(-code), file=sys.stderr)
        os._exit(128 - code)
    if code:
        os._exit(code)


def packages_of(environment: str) -> Path:
    """Return the folder into which an environment's pip installs."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Path(environment, "lib", version, "site-packages")


def torch_would_notice(packages: Path) -> bool:
    """Return whether a job has installed more than its code, or what changes an import of torch."""
    paths = [path for path in packages.glob("*.pth") if path.name != PTH]
    plugins = [
        path
        for path in packages.glob("*.dist-info/entry_points.txt")
        if b"torch" in path.read_bytes()
    ]
    is_one = len([*packages.glob("*.dist-info")]) == 1
    return bool(paths or plugins) or not is_one or hide_imported([str(packages)])


def leave_for(command: Sequence[str]) -> None:
    """Become a launcher; leave a child, which forks the Python programs that it launches."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        theirs.close()
        # It ends with the launcher, and the program that is asked to end may take its time.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if serve(ours, begin_launched):
            return
        os._exit(0)
    theirs.set_inheritable(True)
    os.environ[LAUNCHED] = str(theirs.fileno())
    replace_by(command)


def replace_by(command: Sequence[str]) -> None:
    """Become a command, as if it had been started; exit with 127 if there is none."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and this is inherited
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], list(command))
    except OSError as problem:
        print(f"{command[0]}: {problem.strerror}", file=sys.stderr)
        sys.exit(127)


def begin_launched(
    requested: Mapping[str, Any], log: int, *, line: socket.socket, network: Sequence[int]
) -> None:
    """Turn this process into a program that a launcher launches, and run it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    take_over(requested, log, line)
    run(requested["command"])


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
        vars(process)["current_process"]().authkey = os.urandom(32)
    if files := sys.modules.get("tempfile"):
        vars(files)["tempdir"] = None  # found anew, from TMPDIR
    settings: Any = sys.modules.get("torch._dynamo.config")
    if settings:
        settings.debug_dir_root = settings.default_debug_dir_root()  # below the folder it is in


def enter_environment(folder: str, program: str) -> None:
    """Become the Python of a virtual environment, as if a program of its bin had been started."""
    theirs = {*site.getsitepackages(), site.getusersitepackages()}
    first = next((at for at, each in enumerate(sys.path) if each in theirs), len(sys.path))
    del sys.path[first:]  # behind them is what their .pth files have added
    name = "python3" if program == "python3" else "python"
    sys.executable = f"{folder}/bin/{name}"
    sys.prefix = sys.exec_prefix = folder
    site.PREFIXES[:] = [folder]
    site.ENABLE_USER_SITE = False
    for each in site.getsitepackages():
        if os.path.isdir(each):  # as Python itself does: Debian's names more than there are
            site.addsitedir(each)  # the others come behind, by a .pth file of the environment's


def run(command: Sequence[str], note: str = NOTE) -> None:
    """Run a command of Python: a script, or `-m` and a module, with their arguments.

    note: a line for the log.
    With -I it is a launcher: it has no more on its path, and sets nothing up for what it forks.
    """
    show(command, os.environ)
    sys.orig_argv = list(command)
    _, *words = command
    isolated = words[0] == "-I"
    if words[0] in ("-I", "-u"):
        del words[0]
    is_module = words[0] == "-m"
    sys.argv = words[is_module:]
    if not isolated:
        first = os.getcwd() if is_module else os.path.dirname(os.path.realpath(words[0]))
        added = [first, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        if hide_imported(added):
            replace_by([sys.executable, *command[1:]])
        sys.path[:0] = added
        os.write(1, f"{note}\n".encode() if note else b"")
        set_threads()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __annotations__={})
    try:
        if is_module:
            runpy._run_module_as_main(words[1])  # type: ignore[attr-defined] # as Python itself does
        else:
            path = os.path.abspath(words[0])
            main.__dict__.update(__file__=path, __cached__=None)
            main.__loader__ = SourceFileLoader("__main__", path)
            # dont_inherit: this file's `from __future__` is not the script's.
            code = compile(source(words[0]), path, "exec", dont_inherit=True)
            exec(code, main.__dict__)
    except (Exception, KeyboardInterrupt) as problem:
        trace = problem.__traceback__
        problem.__traceback__ = trace and trace.tb_next  # without this file's part
        sys.excepthook(type(problem), problem, problem.__traceback__)
        sys.excepthook = lambda *said: None
        raise


def hide_imported(folders: Sequence[str]) -> bool:
    """Return whether a module in these folders has the name of one that was imported before."""
    imported = {name.partition(".")[0] for name in sys.modules} | CUSTOMIZING
    paths = [path for folder in folders if os.path.isdir(folder) for path in os.scandir(folder)]
    return any(
        path.name.removesuffix(".py") in imported
        and (path.name.endswith(".py") or os.path.isfile(f"{path.path}/__init__.py"))
        for path in paths
    )


def set_threads() -> None:
    """Give NumPy's OpenBLAS, which works on one thread here, as many as it would begin with."""
    wanted = int(os.environ.get("OMP_NUM_THREADS") or 1)
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    for path in {line.split(maxsplit=5)[5] for line in lines if "openblas" in line}:
        library = ctypes.CDLL(path)
        for before, after in OPENBLAS:
            if hasattr(library, name := f"{before}openblas_set_num_threads{after}"):
                most = getattr(library, f"{before}openblas_get_num_procs{after}")()
                getattr(library, name)(min(wanted, most))


def show(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Write a command and an environment to where /proc shows those of this process.

    By its marks others find what this process forks and sets apart from its group.
    """
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    arguments, arguments_end, variables, variables_end = map(int, fields[45:49])  # proc(5): 48 …
    # With another last byte than 0 the arguments are one text: proc(5), setproctitle(3).
    text = os.fsencode(" ".join(command))[: arguments_end - arguments - 2]
    put(arguments, text.ljust(arguments_end - arguments - 1, b"\0") + b" ")
    marks_first = sorted(environment, key=lambda name: name not in MARKS)
    text = b"".join(os.fsencode(f"{name}={environment[name]}\0") for name in marks_first)
    room = variables_end - variables - 1
    put(variables, text[:room].ljust(room, b"\0"))


def put(address: int, text: bytes) -> None:
    """Write bytes into this process's memory."""
    if address:
        ctypes.memmove(address, text, len(text))


def source(path: str) -> bytes:
    """Return a script's text, or what Python itself says when there is none."""
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        said = f"{sys.executable}: can't open file {os.path.abspath(path)!r}: "
        print(f"{said}[Errno {problem.errno}] {problem.strerror}", file=sys.stderr)
        sys.exit(2)


def isolation(name: str) -> Any:
    """Load a module of `isolation/inside`: what gives a process its network, or its root.

    Its modules import each other by their names, which are not to be in the way of the job's.
    """
    folder, before = str(Path(__file__).parents[1] / "isolation" / "inside"), {*sys.modules}
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path[:] = [each for each in sys.path if each != folder]
        for each in {*sys.modules} - before:
            if (getattr(sys.modules[each], "__file__", "") or "").startswith(folder):
                del sys.modules[each]


def fork_to_run(
    words: Sequence[str], folder: Path, *, environment: Mapping[str, str], pipe: tuple[int, int]
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
    run([sys.executable, *words])
    sys.exit()
