"""Programs of the server's that run other people's code, such as a setup.py: apart, as replicas."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from local_cloud.engine.isolation.roots import Isolation, Level
from local_cloud.store import interruption, trees

ENDING = 5  # seconds in which what was killed is gone
LOOK = 0.1  # seconds between two looks whether the work must stop
LAYER = ".apart-"  # so begin the names of the layers' folders


@dataclass(frozen=True)
class Apart:
    """What such a program sees beside what all jobs see."""

    isolation: Isolation
    folder: Path  # where its layer is while it runs
    shown: Sequence[Path] = ()  # what it reads; its changes disappear with it
    shared: Sequence[Path] = ()  # what it changes

    def run(self, command: Sequence[str], *, seconds: float, **options: Any) -> int:
        """Run a command to its end; return its exit code.

        options: of subprocess.Popen, such as a file for its errors. Raise TimeoutExpired after so
        many seconds, Interrupted if the work must stop, OSError if there is no such command;
        nothing of it is left then.
        """
        if self.isolation.level is Level.UNPROTECTED:
            return run(command, seconds, **options)
        layer = Path(tempfile.mkdtemp(prefix=LAYER, dir=self.folder))
        layout = self.isolation.layout(
            layer,
            shown=self.shown,
            fixed=(),
            shared={str(each): each for each in self.shared},
        )
        try:
            return run(layout.inside(tuple(command)), seconds, **options)
        finally:
            trees.remove(layer)


def run(command: Sequence[str], seconds: float, **options: Any) -> int:
    """Run a command where this process is; otherwise as Apart.run."""
    late = time.monotonic() + seconds
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options
    ) as process:
        try:
            while True:
                interruption.check()
                if time.monotonic() > late:
                    raise subprocess.TimeoutExpired(command, seconds)
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(timeout=LOOK)
        except BaseException:
            _end(process.pid)
            raise


def _end(pid: int) -> None:
    """End a process and all that it started, and wait for them."""
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        everyone = [first, *first.children(recursive=True)]
        for each in everyone:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(everyone, timeout=ENDING)
