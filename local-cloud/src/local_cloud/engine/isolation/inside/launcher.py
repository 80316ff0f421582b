"""Become a command with a root of its own: `python -I -S launcher.py LAYOUT COMMAND …`.

Runs with the standard library only, between fork and the command. LAYOUT: JSON, with the folder of
the control group that the process joins ("" for none), and what it sees (own_root.Layout).
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kernel
import own_processes
import own_root

TYPE_CHECKING = False  # the module `typing` takes long to import
if TYPE_CHECKING:
    from own_root import Layout


def join_group(folder: str) -> None:
    """Put this process, and what it will start, into a control group, if there is one."""
    try:
        if folder:
            with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
    except OSError:  # the server tries it, too
        return


def work_through() -> None:
    """Have this process, and those that it starts, work on when another wakes up, if it may."""
    try:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    except OSError:  # the system does not allow it: messages interrupt it, and nothing else
        return


def enter(layout: Layout) -> None:
    """Give this process the root, processes and permissions of a layout.

    Return in the process that becomes the command, which need not be the one that called.
    """
    here = os.getcwd()
    if layout["is_batch"]:
        work_through()
    has_own_users = kernel.unshare(processes=layout["has_processes"])
    told = own_processes.fork_first() if layout["has_processes"] else None
    root = own_root.Root(layout, has_own_users=has_own_users)
    root.build()
    kernel.change_root(root.path)
    if told is not None:
        own_processes.fork_command(told)
    kernel.drop_capabilities(() if os.geteuid() else kernel.CAPABILITIES)
    os.chdir(here)


def enter_or_exit(layout: Layout) -> None:
    """Enter; exit with a sentence, and code 1, where the system does not allow it."""
    try:
        enter(layout)
    except OSError as problem:
        print(f"The replica cannot be started: {problem}", file=sys.stderr, flush=True)
        os._exit(1)


def main() -> None:
    """Enter, then become the command; exit 127 (as a shell does) when it is not there."""
    _, words, *command = sys.argv
    requested = json.loads(words)
    join_group(requested["group"])
    enter_or_exit(requested["layout"])
    program = command[0] if command else ""
    try:
        os.execvp(program, command)
    except (OSError, ValueError) as problem:
        print(f"The replica cannot be started: {problem}: {program!r}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
