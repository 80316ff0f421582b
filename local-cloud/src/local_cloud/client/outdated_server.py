"""A server that runs older code than its folder holds: how it is found, and what is said of it.

The server compares its own code with the folder as it is now, so that all clients agree, those with
older code in memory too, and none replaces a server that another one has just started.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local_cloud.client.home import CHECKOUT

# The file by which a server knows. One that does not say whether its code has changed is older.
KNOWS = Path("local_cloud", "source.py")


def is_outdated(facts: Mapping[str, Any]) -> bool:
    """Return whether the server with these facts runs other code than its folder holds now."""
    changed = facts.get("code_changed")
    if changed is None:
        return (Path(facts["checkout"]) / KNOWS).exists()
    return bool(changed)


def find_fault() -> str:
    """Return why the code on the disk cannot run here, in its last words; "" if it can.

    It takes as long as a start, and makes the next start shorter: Python compiles what is new.
    """
    command = [sys.executable, "-c", "import local_cloud.server"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, check=False)
    if not done.returncode:
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"it ended with {done.returncode}"


def still_running(facts: Mapping[str, Any]) -> dict[str, int]:
    """Return what runs on a server that cannot say it: by kind, how many of them."""
    ended = ("SUCCEEDED", "FAILED", "STOPPED")
    jobs = sum(count for state, count in facts["jobs"].items() if state not in ended)
    counts = {"jobs": jobs, "deployed models": facts.get("deployments", 0)}
    return {kind: count for kind, count in counts.items() if count}


def in_words(counts: Mapping[str, int]) -> str:
    """Return what runs: "2 jobs and 1 study"."""
    *others, last = (f"{count} {_form(kind, count)}" for kind, count in counts.items())
    return f"{', '.join(others)} and {last}" if others else last


def _form(kind: str, count: int) -> str:
    """Return the word for one or more of a kind, which is named in the plural."""
    if count > 1:
        return kind
    return f"{kind.removesuffix('ies')}y" if kind.endswith("ies") else kind.removesuffix("s")


def restart_command(facts: Mapping[str, Any]) -> str:
    """Return the shell command that starts this server's code again."""
    where, python = (shlex.quote(facts[name]) for name in ("checkout", "interpreter"))
    return f"cd {where} && {python} -m local_cloud start"
