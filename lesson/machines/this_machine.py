"""Run train_nn.py on this machine, as a process of its own: the place every test starts."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lesson import ROOT, LessonError
from lesson.jobs.code import digest, folder_of
from lesson.jobs.epochs import Epoch, epoch_of, epochs_of_results
from lesson.jobs.results import scored
from lesson.jobs.runs import Run, read_metrics
from lesson.jobs.spec import epochs_of
from lesson.jobs.states import FAILED, RUNNING, STARTING, SUCCEEDED
from lesson.show.progress import Display, Progress, in_notebook

SCRIPT = ROOT / "training" / "train_nn.py"
OWN_SENTENCE = f"{SCRIPT.name}: "  # so begins what the script says when it refuses its input


def describe() -> str:
    """Return this machine in a few words: architecture and usable cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores"


def new_folder(place: str) -> Path:
    """Return a folder under runs/ named by the time, so that no run overwrites another."""
    return Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S-%f}-{place}"


def flags(args: Mapping[str, Any]) -> list[str]:
    """Return the flags of a command line, from their names (without the dashes) and values."""
    return [f"--{name}={value}" for name, value in args.items()]


def command(args: Mapping[str, Any], folder: Path, script: Path = SCRIPT) -> list[str]:
    """Return the command line that trains with these flags and writes into `folder`."""
    return [sys.executable, str(script), *flags(args), f"--model_dir={folder}"]


def train(
    args: Mapping[str, Any], folder: Path | None = None, *, code: str | Path | Run | None = None
) -> Run:
    """Train on this machine and show the script's lines as they come, in a notebook below a bar.

    `args` maps flags of train_nn.py, without the dashes, to values; `code` is the folder of your
    copy of the script, or a run whose code is to be used again. Raises LessonError with the
    script's own sentence when it refuses its input.
    """
    script = folder_of(code or SCRIPT.parent) / SCRIPT.name
    folder = folder or new_folder("this-machine")
    begun, bar = time.perf_counter(), _Bar(args)
    with subprocess.Popen(
        command(args, folder, script), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        line = ""
        try:
            for line in process.stdout:
                if not line.startswith(OWN_SENTENCE):  # shown by the error below
                    print(line, end="", flush=True)
                    bar.read(line)
        except KeyboardInterrupt:
            process.terminate()
            raise LessonError("interrupted; the run was stopped and left no model") from None
    bar.draw(epochs_of_results(folder))
    bar.show(FAILED if process.returncode else SUCCEEDED)
    if process.returncode == 2 and line.startswith(OWN_SENTENCE):
        raise LessonError(line.strip())
    if process.returncode != 0:
        raise LessonError(
            f"{SCRIPT.name} ended with code {process.returncode} before its results were written; "
            "the lines above say how far it came"
        )
    seconds, metrics = time.perf_counter() - begun, read_metrics(folder)
    training = metrics["seconds"]["training"]
    return Run(
        place="this machine",
        machine=describe(),
        seconds=seconds,
        starting=seconds - training,
        training=training,
        artefacts=str(folder),
        **scored(metrics),
        code=script.parent.name,
        digest=digest(folder),
    )


class _Bar:
    """How far a training here is: a bar and a curve in a notebook, and nothing elsewhere."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        self._display = Display() if in_notebook() else None
        self._begun = time.perf_counter()
        self._progress = Progress(STARTING, epochs=epochs_of(args))
        self._epochs: list[Epoch] = []
        self.show(STARTING)

    def read(self, line: str) -> None:
        """Show what a line of the log tells."""
        if epoch := epoch_of(line):
            self._epochs.append(epoch)
            self.draw(self._epochs)
            self.show(RUNNING)

    def draw(self, epochs: Sequence[Epoch]) -> None:
        """Have these epochs shown, the last of them in words."""
        self._progress = self._progress.with_epochs(epochs)

    def show(self, state: str) -> None:
        """Show what is known, in this state."""
        if self._display:
            seconds = time.perf_counter() - self._begun
            self._display.show(replace(self._progress, state=state, seconds=seconds))
