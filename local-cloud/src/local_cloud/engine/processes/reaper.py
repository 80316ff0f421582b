"""Ends processes for good; as a process of its own, ends a killed server's replicas.

`Reaper` starts this file as a script with the read end of a pipe as its input. The server says
which process groups it runs; when the pipe closes because the server is gone, however it went,
the script ends those groups and then itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping

import psutil

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # by the reaper
PREFIX = "local-cloud."  # so begin the names of control groups
AGAIN = 0.02  # seconds between two looks
AFTER_KILL = 5.0  # seconds; what SIGKILL has not ended by then hangs in the kernel


def find_living(groups: Collection[int], marks: Collection[str]) -> set[int]:
    """Return the processes of these groups, and those that bear all the marks.

    A group here is what a process started as a session's leader began: the session counts too.
    A process bears the marks in the name of its control group, in the environment that its program
    began with, or in the name of its root. Where there are no control groups, one is not found
    that has left its session, its environment and its root; macOS has neither these groups nor
    roots, and hides the environment of the programs that come with it.
    """
    wanted = {tuple(mark.split("=", 1)) for mark in marks}
    return {one.pid for one in psutil.process_iter() if _belongs(one, groups, wanted)}


def cpu_seconds(processes: Collection[int]) -> float:
    """Return the seconds that these and their children that have ended have computed so far."""
    return sum(map(_cpu_seconds, processes))


def _cpu_seconds(pid: int) -> float:
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:  # it has ended meanwhile
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def _belongs(process: psutil.Process, groups: Collection[int], marks: set[tuple[str, ...]]) -> bool:
    pid = process.pid
    try:
        belongs = os.getpgid(pid) in groups or os.getsid(pid) in groups
        # Everybody may read the name of a control group: it comes before what may be hidden. And
        # another user may give a group of his own this name, whose processes nobody here can end.
        belongs = belongs or bool(marks and _signs(marks) <= _group_signs(pid) and _is_ours(pid))
        belongs = belongs or bool(marks and marks <= process.environ().items())
        belongs = belongs or bool(marks and marks <= _namespace_marks(pid))
        return belongs and _runs(process)
    except (psutil.Error, OSError):  # it ended meanwhile, or is another user's
        return False


def _is_ours(pid: int) -> bool:
    """Return whether this process may send that one a signal."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _runs(process: psutil.Process) -> bool:
    """Return whether a process, which may have ended, is more than a zombie."""
    try:
        gone = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        return process.is_running() and process.status() not in gone
    except psutil.Error:
        return False


def group_name(marks: Collection[str]) -> str:
    """Return the name of the control group of the processes with these marks."""
    return PREFIX + ".".join(_sign(mark) for mark in marks)


def _sign(mark: str) -> str:
    """Return a mark as a part of a control group's name: short, and without a slash."""
    return hashlib.sha256(mark.encode(errors="surrogateescape")).hexdigest()[:16]


def _signs(marks: set[tuple[str, ...]]) -> set[str]:
    return {_sign("=".join(mark)) for mark in marks}


def _group_signs(pid: int) -> set[str]:
    """Return the signs in the names of a process's control groups; on Linux alone."""
    if sys.platform != "linux":
        return set()
    with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="surrogateescape") as file:
        names = file.read().replace("\n", "/").split("/")
    groups = (name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))
    return {sign for name in groups for sign in name.split(".")}


def _namespace_marks(pid: int) -> set[tuple[str, ...]]:
    """Return the marks in the name of a process's /dev, which inside/own_root.py made; on Linux.

    A process that leaves its group, its session and its environment behind keeps its root, unless
    it unshares its mounts and pivots to another one.
    """
    own, theirs = "/proc/self/ns/mnt", f"/proc/{pid}/ns/mnt"
    if sys.platform != "linux" or os.readlink(own) == os.readlink(theirs):
        return set()
    marks = set[tuple[str, ...]]()
    with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            # proc(5): "… mount point … - type source options", blanks and line ends in octal
            kind, source, *_ = line.partition(" - ")[2].split(" ")
            if kind == "tmpfs" and source.startswith("LOCAL_CLOUD_"):
                text = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), source)
                marks.update(tuple(mark.split("=", 1)) for mark in text.split("\n"))
    return marks


def _send(target: int, *signals: signal.Signals) -> None:
    for number in signals:
        try:
            os.kill(target, number)
        except (ProcessLookupError, PermissionError):
            return


def entries(marks: Mapping[str, str]) -> list[str]:
    """Return the environment entries by which processes with these marks are found."""
    return [f"{name}={text}" for name, text in marks.items()]


def _processes(pids: Collection[int]) -> set[psutil.Process]:
    """Return those of the processes that are still there."""
    processes = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            processes.add(psutil.Process(pid))
    return processes


def _second_look(groups: Collection[int], marks: Collection[str]) -> set[int]:
    """Find what `find_living` misses while a process begins its program.

    Just then it has no environment.
    """
    time.sleep(AGAIN)
    return find_living(groups, marks)


def end(groups: Collection[int], marks: Collection[str], grace: float) -> bool:
    """Ask the processes that `find_living` finds to end, wait, and kill those that still run.

    SIGCONT follows SIGTERM, or a stopped process would not see it. Children that appear meanwhile
    are asked too. grace: seconds between SIGTERM and SIGKILL. Returns when nothing is left, or
    False when something outlived SIGKILL by 5 seconds. A process that was found once is waited for
    until it has gone: while it ends it may have no environment any more.
    """
    killing = time.monotonic() + grace
    requested: set[int] = set()
    processes = set[psutil.Process]()
    pause = 0.002
    while left := (
        find_living(groups, marks) | {one.pid for one in processes if _runs(one)}
        or _second_look(groups, marks)
    ):
        processes |= _processes(left)
        now = time.monotonic()
        if now > killing + AFTER_KILL:
            return False
        for target in left if now >= killing else left - requested:
            _send(
                target, *([signal.SIGKILL] if now >= killing else [signal.SIGTERM, signal.SIGCONT])
            )
        requested |= left
        time.sleep(pause)
        pause = min(1.5 * pause, 0.1)
    return True


class Reaper:
    """The server's end of the pipe to the process that outlives it."""

    def __init__(self, marks: Collection[str]) -> None:
        """Keep marks: environment entries (NAME=value) that this run's replicas all have."""
        self._marks = tuple(marks)
        self._groups: dict[int, float] = {}
        self._start()

    def _start(self) -> None:
        # Its own session: Ctrl-C in the server's terminal does not reach it. No environment: its
        # own entries would be found by their marks. Replicas do not inherit the pipe's write end
        # (close_fds), or the pipe would stay open after the server's death.
        #
        # Its signals are blocked from its first moment, which it inherits: nothing but the pipe's
        # end and SIGKILL ends it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", __file__, *self._marks],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={},
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # Somebody may kill it: it does not stay as a zombie.
        threading.Thread(target=self._process.wait, daemon=True).start()

    @property
    def pid(self) -> int:
        """Return the process's id."""
        return self._process.pid

    def add(self, group: int, grace: float) -> None:
        """Keep an eye on this process group; grace in seconds, as in `end`."""
        self._groups[group] = grace
        self._tell(f"+ {group} {grace}\n")

    def remove(self, group: int) -> None:
        """Forget the group, which has ended; its number may be another's from now on."""
        if self._groups.pop(group, None) is not None:
            self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        try:
            self._write(line)
        except BrokenPipeError:  # somebody killed it: another takes over
            self._process.communicate()
            self._start()
            for group, grace in self._groups.items():
                self._write(f"+ {group} {grace}\n")

    def _write(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line.encode())

    def close(self) -> None:
        """Send the process home; the groups have ended."""
        try:
            self._write("bye\n")
            self._process.communicate(timeout=AFTER_KILL)
        except BrokenPipeError:
            self._process.communicate()


def main() -> None:
    """Listen until the pipe closes, then end what is left of the server's replicas."""
    groups: dict[int, float] = {}
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "bye":
            return
        if word == "+":
            groups[int(rest[0])] = float(rest[1])
        else:
            groups.pop(int(rest[0]), None)
    marks = sys.argv[1:]
    grace = max(groups.values(), default=10.0)
    end(groups, marks, grace)
    # The server may have died between starting a replica and telling of it, and the child may
    # not have its environment yet: a second look finds it by its marks.
    time.sleep(0.2)
    end((), marks, grace)


if __name__ == "__main__":
    main()
