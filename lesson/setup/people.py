"""Can other people on this machine read what notebooks show? The line `kernels` of the check.

A kernel that listens on TCP publishes every cell and output to every user of the machine
(learners/setup.md#other-people).
"""

from __future__ import annotations

import json
import os
import pwd
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lesson.setup.findings import Fix

FIRST = 500 if sys.platform == "darwin" else 1000  # user id of a person; below are services
LAST = 60_000  # above are the accounts of services, containers and nobody (login.defs(5))
CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
NO_LOGIN = ("nologin", "false", "sync")


class Process(NamedTuple):
    """A process, as every user of the machine sees it."""

    user: int
    command: Sequence[str]


def kernels() -> str:
    """Say how your kernels listen; raise Fix if other people of this machine can read them."""
    running = processes()
    files = [connection_file(each.command) for each in running if each.user == os.getuid()]
    transports = [transport(Path(file)) for file in files if file]
    open_ones = transports.count("tcp")
    if not open_ones:
        return "none of yours listens on TCP" if transports else "no kernel of yours is running"
    people = others(running)
    if not people:
        return "on TCP, but nobody else uses this machine"
    raise Fix(
        f"other people use this machine ({_some(people)}) and can read all outputs of {open_ones}"
        " of your kernels, which listen on TCP: learners/setup.md, section Other people on the same"
        " machine, says what to do"
    )


def processes() -> list[Process]:
    """Return the processes of this machine that you may see."""
    import psutil

    return [
        Process(each.info["uids"].real, each.info["cmdline"] or ())
        for each in psutil.process_iter(["uids", "cmdline"])
        if each.info["uids"]
    ]


def connection_file(command: Sequence[str]) -> str | None:
    """Return the connection file of a kernel with this command line; None for other programs."""
    if not any("ipykernel" in word for word in command):
        return None
    for word, following in zip(command, [*command[1:], ""], strict=True):
        if word == "-f":
            return following or None
        for option in ("-f=", "--f=", "--IPKernelApp.connection_file="):
            if word.startswith(option):
                return word.removeprefix(option) or None
    return None


def transport(file: Path) -> str:
    """Return "tcp" or "ipc"; "" if the file cannot be read, for example after its kernel ended."""
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(facts.get("transport", "tcp")) if isinstance(facts, dict) else ""


def others(running: Sequence[Process]) -> list[str]:
    """Return the names of other people here: users with a process, and accounts that can log in.

    In a container only processes count: its accounts come with the image, and may belong to nobody.
    """
    users = {each.user for each in running}
    if not _in_container():
        users |= {each.pw_uid for each in pwd.getpwall() if not each.pw_shell.endswith(NO_LOGIN)}
    return sorted(_name(user) for user in users if FIRST <= user < LAST and user != os.getuid())


def _in_container() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ or any(path.exists() for path in CONTAINER)


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
