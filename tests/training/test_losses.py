"""Replicas are killed, and started again by torchrun or by a service: the weights are the same."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from testing import forked
from tests.training.pool import Pool, train_as, weights_of
from tests.training.support import (
    FOR_LONG,
    LOOPBACK,
    SCRIPT,
    Replicas,
    cluster_specs,
    save,
    table,
    train,
    two_of_torchrun,
    wait_until,
)
from training import train_nn

RESTART = 134
PATIENCE = 1200  # seconds for thousands of epochs with a checkpoint in every fifth
SMALL = ("--hidden", "8,6", "--batch_size", 10, "--patience", 0)
LOST = "train_nn.py: another replica ended or cannot be reached"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


def undisturbed(pool: Pool, size: int, archive: Path, folder: Path, *flags: Any) -> torch.Tensor:
    """The weights of a run of so many replicas that nothing happens to."""
    given = ("--train", archive, "--val", archive, "--model_dir", folder, *flags)
    assert {ended.code for ended in pool.run(size, train_as, given)} == {0}
    return weights_of(folder)


def metrics(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text())


def alive(pid: int) -> bool:
    """Whether this process is there and no zombie."""
    status = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(status.stdout.strip()) and not status.stdout.startswith("Z")


# Its replicas see no GPU: they take the CPU.
WITH_GPUS = f"""
import runpy, torch
torch.cuda.device_count = lambda: {{gpus}}
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""


class Machine:
    """One machine of a job: the script, which starts a replica for each GPU if it has several."""

    def __init__(
        self, log: Path, environment: Mapping[str, str], *flags: Any, gpus: int = 0, fork: bool
    ) -> None:
        self.log, self.fork = log, fork
        log.parent.mkdir(parents=True, exist_ok=True)
        script = SCRIPT
        if gpus:
            script = log.with_suffix(".py")
            script.write_text(WITH_GPUS.format(gpus=gpus))
        self.command = [sys.executable, str(script), *map(str, flags)]
        self.environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", **LOOPBACK}
        self.environment["PYTHONFAULTHANDLER"] = "1"  # for code()
        self.environment |= environment
        self.start()

    def start(self) -> None:
        self.process: forked.Process | subprocess.Popen[bytes]
        with self.log.open("ab") as log:
            if self.fork:
                self.process = forked.start(self.command[1:], self.environment, log)
            else:
                self.process = subprocess.Popen(
                    self.command, stdout=log, stderr=log, env=self.environment
                )

    def replicas(self) -> list[int]:
        """The process ids of the replicas that the machine's process has started."""
        command = ["pgrep", "-P", str(self.process.pid)]
        return [*map(int, subprocess.run(command, capture_output=True).stdout.split())]

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the whole machine this signal."""
        for pid in [self.process.pid, *self.replicas()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def code(self, patience: float = 120) -> int:
        """The exit code, when it has ended; one that hangs so many seconds shows where."""
        try:
            return self.process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGABRT)
            self.process.wait(timeout=10)
            pytest.fail(f"it did not end: {self.log.read_text()}")

    def said(self) -> list[str]:
        return self.log.read_text().splitlines()

    def trains(self) -> bool:
        """Whether it has said something of an epoch."""
        return any(line.startswith("epoch") for line in self.said())


@contextlib.contextmanager
def job(
    size: int, archive: Path, folder: Path, *flags: Any, gpus: int = 0, fork: bool = False
) -> Iterator[list[Machine]]:
    """So many machines that train one model; at the end nothing of them is left.

    fork: their processes have torch imported from the start (local-cloud/testing/forked.py).
    """
    given = ("--train", archive, "--val", archive, "--model_dir", folder, *flags)
    logs = [folder.with_name(f"{folder.name}-{rank}.log") for rank in range(size)]
    machines = [
        Machine(log, {"CLUSTER_SPEC": spec}, *given, gpus=gpus, fork=fork)
        for log, spec in zip(logs, cluster_specs(size), strict=True)
    ]
    try:
        yield machines
    finally:
        for machine in machines:
            machine.kill()
            machine.process.wait()


def newest_checkpoint(folder: Path) -> int:
    """When the newest checkpoint was written, in nanoseconds; 0 if there is none."""
    times = [0]
    for path in (folder / "checkpoints").glob("checkpoint.pt"):
        with contextlib.suppress(FileNotFoundError):  # the last run deletes it
            times.append(path.stat().st_mtime_ns)
    return max(times)


# ---- started again by the service ---------------------------------------------------------------
@pytest.mark.parametrize(
    ("parallelism", "epochs"), [("data", 200), pytest.param("model", 80, marks=pytest.mark.slow)]
)
def test_when_a_replica_is_killed_the_others_end_and_the_job_resumes_from_its_checkpoint(
    pool: Pool, archive: Path, tmp_path: Path, parallelism: str, epochs: int
) -> None:
    flags = (*SMALL, "--epochs", epochs, "--parallelism", parallelism)
    run = tmp_path / "run"
    with job(2, archive, run, *flags, "--checkpoint_every", 4, fork=True) as machines:
        wait_until(lambda: newest_checkpoint(tmp_path / "run") > 0)
        machines[1].kill()
        assert [machine.code() for machine in machines] == [RESTART, -signal.SIGKILL]
        assert machines[0].said()[-1] == f"{LOST}; started again, it resumes from its checkpoint"
        for machine in machines:
            machine.start()
        assert [machine.code() for machine in machines] == [0, 0], [m.said() for m in machines]
    expected = undisturbed(pool, 2, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)
    assert len(metrics(tmp_path / "run")["epochs"]["resumed"]) == 1
    assert not (tmp_path / "run/checkpoints").exists()


def survives(machines: list[Machine], folder: Path, kills: int, seed: int) -> int:
    """Kill at random and start all again, as a service does; return the number of kills.

    Now one machine is killed, now all of them; now at any moment, so mostly while they start and
    meet, now soon after a checkpoint, so in the training.
    """
    chance = random.Random(seed)
    for done in range(kills):
        known = newest_checkpoint(folder)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, 3))
        else:
            wait_until(
                lambda known=known: (
                    newest_checkpoint(folder) != known or machines[0].process.poll() is not None
                )
            )
            time.sleep(chance.uniform(0, 0.3))
        for machine in chance.choice([machines, [chance.choice(machines)]]):
            machine.kill()
        for machine in machines:  # a replica that still waits for the others would wait for long
            with contextlib.suppress(subprocess.TimeoutExpired):
                machine.process.wait(timeout=chance.uniform(0, 5))
            machine.process.terminate()
        codes = [machine.code() for machine in machines]
        assert set(codes) <= {0, RESTART, -signal.SIGKILL, -signal.SIGTERM}, codes
        if set(codes) == {0}:
            return done
        for machine in machines:
            machine.start()
    # Most of the training is still to come: as patient as with the undisturbed one.
    assert [machine.code(PATIENCE) for machine in machines] == [0] * len(machines)
    return kills


@pytest.mark.slow
@pytest.mark.parametrize(("size", "parallelism"), [(2, "data"), (3, "data"), (2, "model")])
def test_50_kills_at_random_moments_leave_the_weights_as_they_are_without(
    pool: Pool, archive: Path, tmp_path: Path, size: int, parallelism: str
) -> None:
    epochs = {"data": 12_000, "model": 3_000}[parallelism]
    flags = (*SMALL, "--epochs", epochs, "--parallelism", parallelism)
    with job(size, archive, tmp_path / "run", *flags, "--checkpoint_every", 5) as machines:
        done = survives(machines, tmp_path / "run", 50, seed=random.randrange(2**32))
    assert done == 50
    assert len(metrics(tmp_path / "run")["epochs"]["resumed"]) >= 10  # so often in the training
    pool.patience = PATIENCE
    expected = undisturbed(pool, size, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)
    assert not (tmp_path / "run/checkpoints").exists()


# ---- in the middle of a message ------------------------------------------------------------------
# The second replica begins to receive a message of 64 MB. Only then the first one sends it.
LARGE_MESSAGE = """
import os, sys, time
from pathlib import Path
import torch
import torch.distributed as dist
from training import train_nn

receiving = Path(sys.argv.pop(1))

def send_large_message(tensor, async_op=False):
    large = torch.zeros(2**24)
    if dist.get_rank() == 0:
        while not receiving.exists():
            time.sleep(0.02)
    message = dist.broadcast(large, 0, async_op=True)
    if dist.get_rank() == 1:
        time.sleep(0.5)  # until gloo has said so to the first one
        receiving.touch()
        time.sleep(600)
    return message if async_op else message.wait()

dist.all_reduce = send_large_message
sys.exit(train_nn.main())
"""


def test_a_replica_killed_in_the_middle_of_a_message_ends_the_other_one(
    archive: Path, tmp_path: Path
) -> None:
    """Gloo does not notice; while the replica is only stopped, the other one waits for it."""
    (script := tmp_path / "script.py").write_text(LARGE_MESSAGE)
    receiving = tmp_path / "receiving"
    data = ("--train", archive, "--val", archive, "--model_dir", tmp_path / "run")
    path = {"PYTHONPATH": str(SCRIPT.parents[1])}
    environments = [{**path, **variables} for variables in two_of_torchrun()]
    logs = tmp_path / "logs"
    with Replicas(environments, logs, receiving, *data, script=script) as running:
        first, second = running.processes
        wait_until(receiving.exists)
        second.send_signal(signal.SIGSTOP)
        time.sleep(5)
        assert first.poll() is None, running.said(0)
        second.kill()
        wait_until(lambda: first.poll() is not None, seconds=20)
        assert running.codes() == [1, -signal.SIGKILL]
        assert running.said(0)[-1] == f"{LOST}, no model was written"


# ---- several GPUs, and torchrun -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("gpus", "device", "replicas"),
    [(0, "auto", 1), (1, "auto", 1), (2, "cpu", 1), (2, "auto", 2), (3, "cuda", 3)],
)
def test_one_gpu_or_none_or_another_device_is_one_replica(
    archive: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    gpus: int,
    device: str,
    replicas: int,
) -> None:
    started: list[int] = []

    def start(gpus: int, *_: object, **__: object) -> int:
        started.append(gpus)
        return 0

    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(train_nn, "start_one_process_for_each_gpu", start)
    flags = ("--device", device, "--epochs", 1)
    assert train(archive, tmp_path / "run", *flags).code == 0
    assert started == ([replicas] if replicas > 1 else [])
    assert (tmp_path / "run/model.pt").exists() == (replicas == 1)


def test_the_replicas_of_several_gpus_get_the_flags_that_main_was_given(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def torchrun(words: Sequence[str]) -> int:
        given.extend(words)
        return 0

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(train_nn, "torchrun", torchrun)
    assert train(archive, tmp_path / "run", "--epochs", 7).code == 0
    assert given[-2:] == ["--epochs", "7"]


def test_more_replicas_than_gpus_are_refused(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("LOCAL_RANK", "1")
    done = train(archive, tmp_path / "run")
    assert (done.code, done.err) == (
        2,
        "train_nn.py: --device auto: this machine has 1 GPU, and this is its replica 2; "
        "start one replica for each GPU, or choose --device cpu\n",
    )


@pytest.mark.slow
def test_a_machine_with_several_gpus_starts_a_replica_for_each_and_trains_one_model(
    archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 10)
    with job(1, archive, tmp_path / "run", *flags, gpus=2) as (machine,):
        assert machine.code() == 0, machine.said()
    assert metrics(tmp_path / "run")["world_size"] == 2
    train(archive, tmp_path / "one", *flags)
    weights = weights_of(tmp_path / "run"), weights_of(tmp_path / "one")
    torch.testing.assert_close(*weights, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_two_machines_with_two_gpus_each_train_one_model_of_four(
    archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 10, "--checkpoint_every", 5)
    with job(2, archive, tmp_path / "run", *flags, gpus=2) as machines:
        assert [machine.code() for machine in machines] == [0, 0], [m.said() for m in machines]
        rows = [line for line in machines[1].said() if "rows" in line]
        assert sorted(rows) == ["replica 2 of 4, rows 20 to 29", "replica 3 of 4, rows 30 to 40"]
    assert metrics(tmp_path / "run")["world_size"] == 4
    train(archive, tmp_path / "one", *flags)
    weights = weights_of(tmp_path / "run"), weights_of(tmp_path / "one")
    torch.testing.assert_close(*weights, rtol=0, atol=1e-5)


def test_with_checkpoints_torchrun_starts_the_replicas_of_a_machine_again(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 200)
    kept = (*flags, "--checkpoint_every", 4)
    with job(1, archive, tmp_path / "run", *kept, gpus=2, fork=True) as (machine,):
        wait_until(lambda: newest_checkpoint(tmp_path / "run") > 0)
        os.kill(machine.replicas()[1], signal.SIGKILL)
        assert machine.code() == 0, machine.said()
    expected = undisturbed(pool, 2, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)
    told = metrics(tmp_path / "run")
    assert (told["world_size"], len(told["epochs"]["resumed"])) == (2, 1)


@pytest.mark.slow
def test_a_machine_whose_replicas_are_lost_four_times_leaves_the_next_start_to_the_service(
    archive: Path, tmp_path: Path
) -> None:
    flags = (*FOR_LONG, "--checkpoint_every", 10**6)
    with job(1, archive, tmp_path / "run", *flags, gpus=2) as (machine,):
        for life in range(4):
            wait_until(
                lambda life=life: (
                    sum(line.startswith("epoch     1 ") for line in machine.said()) == life + 1
                )
            )
            os.kill(machine.replicas()[0], signal.SIGKILL)
        assert machine.code() == RESTART
        assert machine.said()[-1] == f"{LOST}; started again, it resumes from its checkpoint"


def test_without_checkpoints_the_loss_of_a_replica_ends_all_in_one_sentence(
    archive: Path, tmp_path: Path
) -> None:
    with job(1, archive, tmp_path / "run", *FOR_LONG, gpus=2, fork=True) as (machine,):
        wait_until(machine.trains)
        replicas = machine.replicas()
        os.kill(replicas[0], signal.SIGKILL)
        assert machine.code() == 1
        assert f"{LOST}, no model was written" in machine.said()
        assert not any(map(alive, replicas))
    assert not (tmp_path / "run/model.pt").exists()


def test_what_is_refused_is_not_tried_again(tmp_path: Path) -> None:
    archive = save(tmp_path / "data.npz", X_train=table()["X_train"] * 1e30)
    flags = ("--learning_rate", 1e15, "--checkpoint_every", 1)
    with job(1, archive, tmp_path / "run", *flags, gpus=2, fork=True) as (machine,):
        assert machine.code() == 2
        refusals = [line for line in machine.said() if "no finite loss in epoch" in line]
        assert 1 <= len(refusals) <= 2  # each replica says it once


@pytest.mark.parametrize(
    ("whom", "every"), [pytest.param("all", 0, marks=pytest.mark.slow), ("the first only", 5)]
)
def test_ctrl_c_ends_all_replicas(archive: Path, tmp_path: Path, whom: str, every: int) -> None:
    """A terminal sends it to all of them, a notebook's button or a service to the first."""
    flags = (*FOR_LONG, "--checkpoint_every", every)
    with job(1, archive, tmp_path / "run", *flags, gpus=2, fork=True) as (machine,):
        wait_until(machine.trains)
        replicas = machine.replicas()
        machine.kill(signal.SIGINT) if whom == "all" else machine.process.send_signal(signal.SIGINT)
        assert machine.code() == 130
        assert not any(map(alive, replicas))
        assert "Traceback" not in machine.log.read_text(), machine.log.read_text()
        assert any("interrupted" in line for line in machine.said())


# ---- a network that does not fit ----------------------------------------------------------------
@pytest.mark.slow
def test_a_network_that_one_replica_cannot_hold_is_trained_by_two_that_share_its_layers(
    archive: Path, tmp_path: Path
) -> None:
    """800 MiB of private memory each; weights, gradients, Adam's state, best weights: 730 MiB."""
    if sys.platform != "linux":
        pytest.skip("only Linux holds a process to RLIMIT_DATA")
    limit = (800 << 20, 800 << 20)
    flags = ("--hidden", "6000,6000", "--epochs", 2, "--parallelism", "model")
    with job(1, archive, tmp_path / "one", *flags) as (machine,):
        resource.prlimit(machine.process.pid, resource.RLIMIT_DATA, limit)
        assert machine.code() == 2
        assert machine.said()[-1] == (
            "train_nn.py: this network needs more memory than there is; choose smaller --hidden, "
            "or start several replicas with --parallelism model"
        )
    assert not (tmp_path / "one/model.pt").exists()
    with job(2, archive, tmp_path / "two", *flags) as machines:
        for machine in machines:
            resource.prlimit(machine.process.pid, resource.RLIMIT_DATA, limit)
        assert [machine.code() for machine in machines] == [0, 0], [m.said() for m in machines]
    weights = 7 * 6000 + 6000 * 6000 + 3 * 6000 + 1
    for replica in metrics(tmp_path / "two")["replicas"]:
        for kind, numbers in (("parameters", weights), ("optimiser", 2 * weights)):
            assert replica["bytes"][kind] <= 0.6 * 4 * numbers
    (tmp_path / "two/model.pt").unlink()  # 144 MB
