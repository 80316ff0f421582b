"""The start-up script of a VM, run here as the machine runs it.

A folder is the bucket. On both clouds' buckets it runs in tests/helpers/test_vm.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from lesson import LessonError
from lesson.machines import vm
from testing.other_environments import tool
from tests.torch_versions.running import LOOPBACK, save_table, wait_until

COPY = """\
import pathlib, shutil, sys
pathlib.Path(sys.argv[2]).parent.mkdir(parents=True, exist_ok=True)
shutil.copy(*sys.argv[1:])
"""
SECOND = 1 / 3600


@dataclass
class StandInMachine:
    """A machine that starts in a scratch folder."""

    folder: Path

    @property
    def off(self) -> Path:
        """Is written where the machine would be switched off."""
        return self.folder / "off"

    def machine(
        self, gpus: int = 0, hours: float = 1.0, grace: int = 60, **flags: Any
    ) -> vm.Machine:
        (self.folder / "bucket").mkdir(exist_ok=True)
        (self.folder / "bucket" / vm.SOURCE).write_bytes(vm.pack())
        data = save_table(self.folder / "data.npz")
        args = {"train": data, "val": data, "epochs": 3} | flags
        base = str(self.folder / "bucket")
        return vm.Machine("vm-1", base, args, gpus, hours, "boto3", COPY, "false", grace)

    def start(self, machine: vm.Machine, **more: str) -> subprocess.Popen[str]:
        """Start the script with a machine's few variables."""
        script = self.folder / "startup.sh"
        script.write_text(machine.script())
        variables = {
            "PATH": f"{self.folder}/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "VM_ROOT": str(self.folder / "machine"),
            "VM_PYTHON": sys.executable,
            "VM_SHUTDOWN": f"echo off >>'{self.off}'",
            "VM_DRIVER_TRIES": "0",
            "GLOO_SOCKET_IFNAME": LOOPBACK,
            **more,
        }
        return subprocess.Popen(
            ["bash", str(script)],
            env=variables,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def ended(self, machine: vm.Machine, **more: str) -> tuple[int, str]:
        """Run it to its end: the exit code, and what it said."""
        with self.start(machine, **more) as process:
            said, _ = process.communicate(timeout=120)
        return process.returncode, said


@pytest.fixture
def rented(tmp_path: Path) -> Iterator[StandInMachine]:
    made = StandInMachine(tmp_path)
    yield made
    try:  # what was killed takes a moment to go
        wait_until(lambda: not _running(tmp_path), 10)
    finally:
        for each in _running(tmp_path):
            each.kill()


def _running(folder: Path) -> list[psutil.Process]:
    """The processes that a machine in this folder has started."""
    return [each for each in psutil.process_iter() if str(folder) in " ".join(_words(each))]


def _words(process: psutil.Process) -> list[str]:
    """The command line of a process; empty if it has ended by now."""
    try:
        return process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
    except psutil.Error:
        return []


def nvidia_smi(folder: Path, gpus: int) -> None:
    """A program of that name in place of the driver's: there is no GPU here."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "nvidia-smi"
    program.write_text("#!/bin/sh\n" + gpus * "echo GPU\n")
    program.chmod(0o755)


def test_one_process_for_each_gpu_trains_one_model_and_the_machine_ends(
    rented: StandInMachine,
) -> None:
    nvidia_smi(rented.folder, gpus=2)
    machine = rented.machine(gpus=2)
    code, said = rented.ended(machine, CUDA_VISIBLE_DEVICES="")
    assert code == 0, said
    metrics = json.loads((Path(machine.results) / "metrics.json").read_text())
    assert metrics["world_size"] == 2
    assert Path(machine.exit_code).read_text() == "0\n"
    assert "validation:accuracy" in (rented.folder / "bucket" / vm.LOG).read_text()
    assert rented.off.read_text() == "off\n"


def test_a_driver_that_sees_fewer_gpus_ends_the_machine_before_anything_is_installed(
    rented: StandInMachine,
) -> None:
    nvidia_smi(rented.folder, gpus=1)
    machine = rented.machine(gpus=2)
    code, said = rented.ended(machine)
    assert (code, "sees 1 of 2 GPUs" in said) == (3, True)
    assert Path(machine.exit_code).read_text() == "3\n" and rented.off.exists()
    assert not Path(machine.results).exists()


def test_the_deadline_stops_a_training_which_leaves_a_checkpoint(rented: StandInMachine) -> None:
    """It comes early: what sleeps until then is woken once the training trains."""
    machine = rented.machine(epochs=10**9, patience=0, checkpoint_every=10)
    checkpoints = Path(machine.results) / "checkpoints"
    with rented.start(machine) as process:
        wait_until(lambda: list(checkpoints.glob("*.pt")))
        for each in psutil.Process(process.pid).children(recursive=True):
            if _words(each) == ["sleep", str(machine.deadline)]:
                each.kill()
        said, _ = process.communicate(timeout=120)
    assert process.returncode != 0 and "the deadline of 3600 s has passed" in said
    assert list(checkpoints.glob("*.pt"))
    assert Path(machine.exit_code).read_text() == f"{process.returncode}\n"
    assert rented.off.exists()


def test_the_deadline_holds_when_everything_hangs(rented: StandInMachine) -> None:
    """The interpreter never answers, not even to a signal, nor does the bucket."""
    python = rented.folder / "python"
    python.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n")
    python.chmod(0o755)
    machine = rented.machine(hours=SECOND, grace=1)
    with rented.start(machine, VM_PYTHON=str(python)) as process:
        wait_until(rented.off.exists)
        os.killpg(process.pid, signal.SIGKILL)  # what a machine that is off does


def test_a_flag_runs_nothing_and_what_the_script_refuses_is_in_the_log(
    rented: StandInMachine,
) -> None:
    machine = rented.machine(hidden="$(touch hacked); 'x'")
    code, _ = rented.ended(machine)
    assert code == 1 and rented.off.exists()
    assert "argument --hidden" in (rented.folder / "bucket" / vm.LOG).read_text()
    assert not (rented.folder / "hacked").exists()


def test_a_deadline_has_to_be_in_the_future() -> None:
    for hours in (0.0, -1.0):
        with pytest.raises(LessonError, match="more than zero"):
            vm.Machine("vm", "gs://b/x", {}, 0, hours, "boto3", COPY, "true").script()


@pytest.mark.slow  # `make test-all` installs the program
def test_shellcheck_finds_nothing(rented: StandInMachine) -> None:
    script = rented.folder / "startup.sh"
    script.write_text(rented.machine(gpus=2).script())
    done = subprocess.run(
        [tool("shellcheck", "shellcheck"), script], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow  # it installs torch
def test_the_environment_is_made_with_the_locks_versions(rented: StandInMachine) -> None:
    from tools.environment.make import package_index

    command = [sys.executable, "-m", "pip", "config", "list"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    more = {
        **package_index.pip_configuration(said),
        "UV_TORCH_BACKEND": "",
        "HOME": os.environ["HOME"],
    }
    more |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    # The machine's own python3 is the one that runs the tests.
    (rented.folder / "bin").mkdir()
    (rented.folder / "bin/python3").symlink_to(sys.executable)
    machine = rented.machine()
    code, said = rented.ended(machine, VM_PYTHON="", **more)
    assert code == 0, said
    metrics = json.loads((Path(machine.results) / "metrics.json").read_text())
    assert f"torch=={metrics['versions']['torch'].partition('+')[0]}" == vm.find_locked("torch")
