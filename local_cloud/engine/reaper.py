"""Ends processes for good; as a process of its own, ends a killed server's replicas.

`Reaper` starts this file as a script (standard library only, quick to start) with the read end of
a pipe as its input. The server says which process groups it runs; when the pipe closes because
the server is gone, however it went, the script ends those groups and then itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

LINUX = sys.platform == "linux"
DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the reaper
AFTER_KILL = 5.0  # seconds; what SIGKILL has not ended by then hangs in the kernel


def living(groups: Collection[int], marks: Collection[bytes]) -> set[int]:
    """The processes of these groups, and those whose first environment holds all the marks.

    A group here is what a process started as a session's leader began: the session counts too.
    Only Linux shows other processes' environments. Elsewhere what left both its group and its
    session is not found, and the result holds the living groups in place of the processes.
    """
    if not LINUX:
        return {group for group in groups if _group_lives(group)}
    return {
        int(entry)
        for entry in os.listdir("/proc")
        if entry.isdigit() and _belongs(Path("/proc", entry), groups, frozenset(marks))
    }


def _belongs(process: Path, groups: Collection[int], marks: frozenset[bytes]) -> bool:
    try:
        # "pid (name) state parent group session …"; the name may hold anything, even ")".
        state, _, group, session = (
            process.joinpath("stat").read_bytes().rpartition(b")")[2].split()[:4]
        )
        if state in (b"Z", b"X"):
            return False
        if int(group) in groups or int(session) in groups:
            return True
        return bool(marks) and marks <= set(process.joinpath("environ").read_bytes().split(b"\0"))
    except OSError:  # it ended meanwhile, or is another user's
        return False


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):  # macOS: no permission for a group of zombies
        return False
    return True


def _send(target: int, *signals: signal.Signals) -> None:
    for number in signals:
        try:
            os.kill(target, number) if LINUX else os.killpg(target, number)
        except (ProcessLookupError, PermissionError):
            return


def end(groups: Collection[int], marks: Collection[bytes], grace: float) -> bool:
    """Ask the processes that `living` finds to end, wait, and kill those that still run.

    SIGCONT follows SIGTERM, or a stopped process would not see it. Children that appear meanwhile
    are asked too. grace: seconds between SIGTERM and SIGKILL. Returns when nothing is left, or
    False when something outlived SIGKILL by 5 seconds.
    """
    killing = time.monotonic() + grace
    asked: set[int] = set()
    pause = 0.002
    while left := living(groups, marks):
        now = time.monotonic()
        if now > killing + AFTER_KILL:
            return False
        for target in left if now >= killing else left - asked:
            _send(
                target, *([signal.SIGKILL] if now >= killing else [signal.SIGTERM, signal.SIGCONT])
            )
        asked |= left
        time.sleep(pause)
        pause = min(1.5 * pause, 0.1)
    return True


class Reaper:
    """The server's end of the pipe to the process that outlives it."""

    def __init__(self, marks: Collection[str]) -> None:
        """marks: environment entries (NAME=value) that this run's replicas all have."""
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
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, DEAF_TO)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, *self._marks],
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

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def add(self, group: int, grace: float) -> None:
        """Keep an eye on this process group; grace in seconds, as in `end`."""
        self._groups[group] = grace
        self._tell(f"+ {group} {grace}\n")

    def remove(self, group: int) -> None:
        """The group has ended; its number may be another's from now on."""
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
    marks = [os.fsencode(mark) for mark in sys.argv[1:]]
    grace = max(groups.values(), default=10.0)
    end(groups, marks, grace)
    # The server may have died between starting a replica and telling of it, and the child may
    # not have its environment yet: a second look finds it by its marks.
    time.sleep(0.2)
    end((), marks, grace)


if __name__ == "__main__":
    main()
