"""A virtual machine (VM): the script that it runs when it starts, and that script run here."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from lesson import ROOT, LessonError, target
from lesson.jobs.cloud import Cloud
from lesson.jobs.code import FOLDER, digest
from lesson.jobs.results import scored
from lesson.jobs.runs import Run, read_metrics
from lesson.jobs.spec import JobSpec
from lesson.machines.this_machine import flags
from lesson.money.costs import Estimate, PriceUnknown

BODY = Path(__file__).with_name("startup.sh")
LOCK = ROOT / "tools/lock/requirements.txt"
GRACE = 120  # seconds from the deadline until the machine is off, whatever hangs
SOURCE, SCRIPT, EXIT_CODE, LOG = "source.tar.gz", "startup.sh", "exit_code", "startup.log"
PREFIX = "vm-nn-"  # so begin the names of machines
LOOKING = 15.0  # seconds between two looks into the bucket


class Script(str):
    """The text of a start-up script; in a printed request it stands as the file that holds it."""

    path: Path

    def __new__(cls, text: str, path: Path) -> Script:
        """Take the text, and where write() puts it."""
        made = super().__new__(cls, text)
        made.path = path
        return made

    def __repr__(self) -> str:
        """Write the Python that reads it."""
        return f"Path({str(self.path)!r}).read_text()"

    def write(self) -> Script:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(self, encoding="utf-8")
        return self


@dataclass(frozen=True)
class Machine:
    """What a start-up script has to know."""

    name: str  # of the machine, and of its folder below runs/
    base: str  # the URI below which everything of it is stored
    args: Mapping[str, Any]  # flags of train_nn.py
    gpus: int
    hours: float  # after which the machine is switched off
    client: str  # the package that reads and writes the cloud's buckets
    copy: str  # Python that copies sys.argv[1] to sys.argv[2], one of them a URI
    off: str  # the command that ends the machine
    grace: int = GRACE

    @property
    def results(self) -> str:
        """Return the URI of the results."""
        return str(self.args.get("model_dir") or f"{self.base}/model")

    @property
    def exit_code(self) -> str:
        """Return the URI of the exit code, the last object that the machine writes."""
        return f"{self.base}/{EXIT_CODE}"

    @property
    def deadline(self) -> int:
        """Return the seconds after which the training is stopped."""
        return round(self.hours * 3600)

    @property
    def folder(self) -> Path:
        """Return the folder on this machine for the script and for a copy of the results."""
        return Path("runs") / self.name

    def script(self) -> Script:
        """Return the start-up script: what this machine is, and then lesson/machines/startup.sh."""
        if not self.deadline > 0:
            raise LessonError(f"hours={self.hours}: name a number of hours that is more than zero")
        words = flags({**self.args, "model_dir": self.results})
        packages = ["torch", "numpy", self.client]
        settings = {
            "NAME": self.name,
            "BASE": self.base,
            "GPUS": self.gpus,
            "DEADLINE": self.deadline,
            "GRACE": self.grace,
            "UV": find_locked("uv"),
            "PACKAGES": " ".join(map(find_locked, packages)),
            "OFF": self.off,
        }
        lines = [f"{name}={shlex.quote(str(value))}" for name, value in settings.items()]
        text = "\n".join(
            [
                "#!/bin/bash",
                "# What a rented machine does when it starts: train, and then end itself.",
                *lines,
                f"FLAGS=({' '.join(map(shlex.quote, words))})",
                f"lock() {{\n  cat <<'END'\n{lock()}END\n}}",
                "# copy FROM TO: one of them is a file, the other an object of the bucket",
                f'copy() {{\n  "$PYTHON" - "$@" <<\'END\'\n{self.copy}END\n}}',
                BODY.read_text(encoding="utf-8"),
            ]
        )
        return Script(text, self.folder / SCRIPT)


def lock() -> str:
    """Return the lock without its comments: the versions, one in a line."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("#"))


def find_locked(package: str) -> str:
    """Return a package with its version in the lock, as `torch==2.13.0`."""
    match = re.search(rf"^{re.escape(package)}==\S+", lock(), re.MULTILINE)
    assert match, package
    return match.group()


def pack() -> bytes:
    """Return the folder with train_nn.py as a tar.gz, which the machine unpacks."""
    with tarfile.open(fileobj=(packed := io.BytesIO()), mode="w:gz") as archive:
        for file in sorted(FOLDER.glob("*.py")):
            archive.add(file, f"{FOLDER.name}/{file.name}")
    return packed.getvalue()


# ---- after the request ---------------------------------------------------------------------------
def run_here(machine: Machine) -> None:
    """Run the start-up script on this machine, which plays the rented one, and show its lines.

    Python and its packages are those of the lesson, the driver is not asked for, and where the
    machine would be switched off a file is written.
    """
    folder = machine.folder.absolute()
    environment = {
        **os.environ,
        "VM_ROOT": str(folder / "machine"),
        "VM_PYTHON": sys.executable,
        "VM_DRIVER": "none",
        "VM_SHUTDOWN": f"echo off >{shlex.quote(str(folder / 'switched-off'))}",
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
    }
    with subprocess.Popen(
        ["bash", str(machine.folder / SCRIPT)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGTERM)
            raise LessonError("interrupted; the start-up script was stopped") from None


@dataclass(frozen=True)
class RentedMachine:
    """A machine that was asked for; wait(run) uses it."""

    machine: Machine
    estimate: Callable[..., Estimate]  # what it costs, for `hours=` so many
    begun: float  # time.time()


def row(service: str, spec: JobSpec, rented: RentedMachine, *, request: Mapping[str, Any]) -> Run:
    """Return the row of a machine that has been asked for."""
    here = " (this machine)" if target() == "local" else ""
    return Run(
        f"{service}{here}", str(spec), None, None, None, spec.output, job=rented, request=request
    )


def wait_for(cloud: Cloud, run: Run) -> Run:
    """Wait for the machine's end, and return the run with the results in the bucket.

    Raises LessonError with the last lines of the machine's log if it has failed, or left nothing
    when it must be off.
    """
    rented: RentedMachine = run.job
    machine = rented.machine
    code = wait_for_exit_code(rented, partial(cloud.read_text, machine.exit_code))
    if code != "0":
        raise failure(machine, code, cloud.read_text(f"{machine.base}/{LOG}"))
    return complete(run, rented, cloud.fetch(machine.results, machine.folder))


def wait_for_exit_code(rented: RentedMachine, read: Callable[[], str | None]) -> str | None:
    """Look for the exit code until it is there; None if the machine must be off without one.

    `read` returns the text of the object; None while there is none.
    """
    machine = rented.machine
    until = rented.begun + machine.deadline + 2 * machine.grace
    while (code := read()) is None and time.time() < until:
        time.sleep(LOOKING)
    return code.strip() if code else None


def failure(machine: Machine, code: str | None, log: str | None) -> LessonError:
    """Return what to say of a machine that failed, with the last lines of its log."""
    ended = f"ended with code {code}" if code else "left no exit code"
    last = (log or "").splitlines()[-5:]
    return LessonError("\n".join([f"{machine.name} {ended}; its log ends with:", *last]))


def complete(run: Run, rented: RentedMachine, copy: Path) -> Run:
    """Return the run with what the copy of its results says, and what the machine has cost."""
    metrics = read_metrics(copy)
    seconds, training = time.time() - rented.begun, metrics["seconds"]["training"]
    with contextlib.suppress(PriceUnknown):
        run = replace(run, cost=rented.estimate(hours=seconds / 3600).usd)
    return replace(
        run,
        seconds=seconds,
        starting=seconds - training,
        training=training,
        copy=copy,
        **scored(metrics),
        code=FOLDER.name,
        digest=digest(copy),
    )
