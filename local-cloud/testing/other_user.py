"""Another user of the host, where there can be one.

Root can start processes of another user; others need `sudo -n` to one who can run this Python.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from testing.tally import Tally

OTHER = "nobody"
HERE = Path(__file__).parents[1]  # where the attacks are found, as testing.attack


class Stranger:
    """Starts attacks as the other user."""

    def __init__(self) -> None:
        """LookupError, with the reason, where there cannot be one."""
        self.uid = pwd.getpwnam(OTHER).pw_uid
        self._before: list[str] = []
        if os.geteuid() != 0:
            self._before = ["sudo", "-n", "-u", OTHER, "env", f"PYTHONPATH={HERE}"]
            if not shutil.which("sudo"):
                raise LookupError("only root can become another user here, and there is no sudo")
            probe = [*self._before, sys.executable, "-c", "import torch, testing.attack"]
            done = subprocess.run(probe, cwd="/", capture_output=True, text=True)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["it fails"])[-1]
                raise LookupError(f"sudo -n -u {OTHER} cannot run this Python: {last}")

    def start(self, name: str, **facts: Any) -> subprocess.Popen[str]:
        """Start an attack."""
        command = [sys.executable, "-m", "testing.attack", str(self.uid), name]
        clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE)}
        process = subprocess.Popen(
            [*self._before, *command], cwd="/", env=clean, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin
        process.stdin.write(json.dumps(facts) + "\n")
        process.stdin.flush()
        return process

    def attack(self, tally: Tally, name: str, **facts: Any) -> None:
        """Start one and count what comes of it."""
        with self.start(name, **facts) as process:
            count(tally, name, process)


def count(tally: Tally, name: str, process: subprocess.Popen[str]) -> None:
    """Count what an attack reports when it has ended."""
    try:
        said, errors = process.communicate(timeout=180)
    except subprocess.TimeoutExpired:
        process.kill()
        tally.breaks(f"{name}: the attack hangs")
        return
    try:
        report = json.loads(said.strip().splitlines()[-1])
        tried, entered = report["tried"], report["entered"]
    except (ValueError, IndexError, KeyError):
        tally.breaks(f"{name}: the attack itself failed: {errors[-500:]}")
        return
    tally.survives(tried - len(entered))
    for how in entered[:10]:
        tally.lets_in(f"{name}: {how}")
