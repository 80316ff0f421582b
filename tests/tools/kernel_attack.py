"""Another user of the host at the kernels of `make lab`: reads them, and writes into them.

Meanwhile cells run, print a password, are interrupted, and kernels are restarted.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import time
from pathlib import Path

from testing.other_user import Stranger, count
from testing.tally import Tally
from tests.tools.running_lab import RunningLab

# A kernel keeps a port for what processes of its own print. It reads there, never writes, and says
# so in this line when it did not start the one who sends (local-cloud/docs/threat-model.md).
REFUSED = "Bad pipe message: "


def run(folder: Path, seconds: float) -> Tally:
    """A real JupyterLab with two kernels, and a stranger on the same machine."""
    tally = Tally("kernels")
    try:
        stranger = Stranger()
    except LookupError as problem:
        tally.skipped = str(problem)
        return tally
    os.umask(0o022)
    with RunningLab(folder / "lab") as lab:
        attack(lab, stranger, tally, seconds)
    return tally


def attack(lab: RunningLab, stranger: Stranger, tally: Tally, seconds: float) -> None:
    """Let the stranger try for so long; count what came of it, and how the kernels went on."""
    marker, forged = secrets.token_hex(8), secrets.token_hex(8)
    kernels = [lab.start_kernel() for _ in range(2)]
    for kernel in kernels:
        lab.run(kernel, f"password = {marker!r}")
    facts = {"ports": sorted(lab.ports()), "paths": paths(lab), "lab": lab.port, "ids": kernels}
    process = stranger.start("kernels", marker=marker, forged=forged, seconds=seconds, **facts)
    with process:
        end = time.monotonic() + seconds + 60
        work(lab, kernels, (marker, forged), process, end, tally)
        count(tally, "kernels", process)


def work(
    lab: RunningLab,
    kernels: list[str],
    words: tuple[str, str],
    process: subprocess.Popen[str],
    end: float,
    tally: Tally,
) -> None:
    """Run cells while the stranger is there, until a time at most; look at what they show."""
    marker, forged = words
    turn = 0
    while process.poll() is None and time.monotonic() < end:
        kernel, turn = kernels[turn % 2], turn + 1
        if turn % 10 == 0:
            lab.ask("POST", f"/api/kernels/{kernel}/restart")
        said = [
            line
            for line in lab.run(kernel, f"print({marker!r})").splitlines()
            if not line.startswith(REFUSED)
        ]
        if forged in "".join(said):
            tally.lets_in(f"a stranger's words were in a cell's output: {said}")
        else:
            tally.check(said == [marker], f"a cell has printed {said}")
        time.sleep(0.05)
    tally.check(turn > 0, "no cell has run while the stranger was there, so nothing was tried")


def paths(lab: RunningLab) -> list[str]:
    """The files of the kernels: their keys, and their sockets if they have any."""
    return [str(path) for path in sorted(lab.runtime.iterdir())]
