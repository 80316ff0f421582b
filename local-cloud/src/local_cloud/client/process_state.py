"""Find out whether a process is suspended: by SIGSTOP, by Ctrl-Z, or by a debugger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def is_suspended(pid: int) -> bool:
    """Return whether the process exists and waits for SIGCONT."""
    return _state(pid) in ("T", "t")


def _state(pid: int) -> str:
    """Return the letter of ps(1) for the state of a process; "" if there is no such process."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except OSError:
            return ""
        return stat.rpartition(")")[2].split()[0]  # the program's name may hold blanks
    command = ["ps", "-o", "state=", "-p", str(pid)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return said.strip()[:1]
