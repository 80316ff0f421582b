"""Whatever is lost on the way, a run with checkpoints ends as if nothing had been."""

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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.pool import Pool, train_as, weights_of
from tests.training.support import (
    FOR_LONG,
    LOOPBACK,
    SCRIPT,
    cluster_specs,
    save,
    table,
    train,
    train_nn,
    wait_until,
)

RESTART = 134
SMALL = ("--hidden", "8,6", "--batch_size", 10, "--patience", 0)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return save(tmp_path / "data.npz", **table(rows=41))


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


def undisturbed(pool: Pool, size: int, archive: Path, folder: Path, *flags: Any) -> torch.Tensor:
    """The weights of a run of so many replicas that nothing happens to."""
    given = ("--train", archive, "--val", archive, "--model_dir", folder, *flags)
    assert {ended.code for ended in pool.run(size, train_as, given)} == {0}
    return weights_of(folder)


def metrics(folder: Path) -> Any:
    return json.loads((folder / "metrics.json").read_text())


def alive(pid: int) -> bool:
    """Whether this process is there and no zombie."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(found.stdout.strip()) and not found.stdout.startswith("Z")


class Machine:
    """One machine of a job: the script in a process group of its own, started again as asked."""

    def __init__(self, log: Path, environment: Mapping[str, str], *flags: Any) -> None:
        self.log, self.flags = log, flags
        self.environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", **LOOPBACK}
        self.environment["PYTHONFAULTHANDLER"] = "1"  # for code()
        self.environment |= environment
        log.parent.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, SCRIPT, *map(str, self.flags)],
                stdout=log, stderr=log, env=self.environment, start_new_session=True,
            )  # fmt: skip

    def replicas(self) -> list[int]:
        """The process ids of the replicas that the machine's process has started."""
        command = ["pgrep", "-P", str(self.process.pid)]
        return [*map(int, subprocess.run(command, capture_output=True).stdout.split())]

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the whole machine this signal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def code(self) -> int:
        """The exit code, when it has ended; one that hangs shows where."""
        try:
            return self.process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGABRT)
            self.process.wait(timeout=10)
            pytest.fail(f"it did not end: {self.log.read_text()}")

    def said(self) -> list[str]:
        return self.log.read_text().splitlines()


@contextlib.contextmanager
def job(
    size: int, archive: Path, folder: Path, *flags: Any, **environment: str
) -> Iterator[list[Machine]]:
    """So many machines that train one model; at the end nothing of them is left."""
    given = ("--train", archive, "--val", archive, "--model_dir", folder, *flags)
    machines = [
        Machine(
            folder.with_name(f"{folder.name}-{rank}.log"),
            {"CLUSTER_SPEC": spec, **environment},
            *given,
        )
        for rank, spec in enumerate(cluster_specs(size))
    ]
    try:
        yield machines
    finally:
        for machine in machines:
            machine.kill(signal.SIGCONT)
            machine.kill()
            machine.process.wait()


def has_checkpoints(folder: Path, replicas: int = 1) -> bool:
    """Whether so many of the replicas have left one."""
    return len({path.parent for path in (folder / "checkpoints").rglob("step-*.pt")}) >= replicas


# ---- one loss -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parallelism", "epochs"), [("data", 200), pytest.param("model", 80, marks=pytest.mark.slow)]
)
def test_when_a_replica_is_killed_the_group_goes_on_from_its_checkpoint(
    pool: Pool, archive: Path, tmp_path: Path, parallelism: str, epochs: int
) -> None:
    flags = (*SMALL, "--epochs", epochs, "--parallelism", parallelism)
    with job(2, archive, tmp_path / "run", *flags, "--checkpoint_every", 4) as machines:
        wait_until(lambda: has_checkpoints(tmp_path / "run", 2 if parallelism == "model" else 1))
        (killed,) = machines[1].replicas()
        os.kill(killed, signal.SIGKILL)
        assert [machine.code() for machine in machines] == [0, 0], [m.said() for m in machines]
        for machine in machines:  # the other one notices, and begins again, too
            assert any("start again from the checkpoint" in line for line in machine.said())
    expected = undisturbed(pool, 2, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)
    assert len(metrics(tmp_path / "run")["epochs"]["resumed"]) == 1


@pytest.mark.slow
def test_when_a_machine_is_lost_the_others_wait_for_the_next_one(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 200)
    with job(2, archive, tmp_path / "run", *flags, "--checkpoint_every", 4) as machines:
        wait_until(lambda: has_checkpoints(tmp_path / "run"))
        machines[0].kill()
        assert machines[0].code() == -signal.SIGKILL
        wait_until(lambda: any("start again" in line for line in machines[1].said()))
        machines[0].start()
        assert [machine.code() for machine in machines] == [0, 0], [m.said() for m in machines]
    expected = undisturbed(pool, 2, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)


@pytest.mark.slow
def test_a_stopped_machine_stops_all_and_goes_on_as_if_nothing_had_been(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 300)
    with job(2, archive, tmp_path / "run", *flags, "--checkpoint_every", 1) as machines:
        wait_until(lambda: has_checkpoints(tmp_path / "run"))
        machines[1].kill(signal.SIGSTOP)
        time.sleep(0.5)

        def state() -> list[Any]:
            there = sorted((tmp_path / "run/checkpoints").rglob("*"))
            return [there, [machine.process.poll() for machine in machines]]

        before = state()
        time.sleep(1)
        assert state() == before and before[1] == [None, None]
        machines[1].kill(signal.SIGCONT)
        assert [machine.code() for machine in machines] == [0, 0]
        assert not any("start again" in line for line in machines[0].said())
    expected = undisturbed(pool, 2, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)]
)
def test_when_what_watches_over_the_replicas_is_killed_they_leave_too(
    archive: Path, tmp_path: Path, number: int
) -> None:
    flags = (*FOR_LONG, "--checkpoint_every", 5)
    two = {"CUDA_VISIBLE_DEVICES": "0,1"}  # torch sees none of them here and takes the CPU
    with job(1, archive, tmp_path / "run", *flags, **two) as (machine,):
        wait_until(lambda: has_checkpoints(tmp_path / "run"))
        replicas = machine.replicas()
        assert len(replicas) == 2 and all(map(alive, replicas))
        if number == signal.SIGSTOP:  # and even one that is stopped at that moment
            os.kill(replicas[1], signal.SIGSTOP)
        machine.process.kill()
        wait_until(lambda: not alive(replicas[0]), 20)
        if number == signal.SIGSTOP:
            os.kill(replicas[1], signal.SIGCONT)
        wait_until(lambda: not any(map(alive, replicas)), 20)


def test_without_checkpoints_the_loss_of_a_replica_ends_all_in_one_sentence(
    archive: Path, tmp_path: Path
) -> None:
    with job(1, archive, tmp_path / "run", *FOR_LONG, CUDA_VISIBLE_DEVICES="0,1") as (machine,):
        wait_until(lambda: any(line.startswith("epoch") for line in machine.said()))
        replicas = machine.replicas()
        os.kill(replicas[0], signal.SIGKILL)
        assert machine.code() == 1
        sentence = "train_nn.py: another replica ended or cannot be reached, no model was written"
        assert machine.said()[-1] == sentence
        assert not any(map(alive, replicas))
    assert not (tmp_path / "run/model.pt").exists()


def test_a_run_that_ends_three_times_at_the_same_place_is_given_up(
    archive: Path, tmp_path: Path
) -> None:
    flags = (*FOR_LONG, "--checkpoint_every", 10**6)
    with job(1, archive, tmp_path / "run", *flags, CUDA_VISIBLE_DEVICES="0,1") as (machine,):
        for life in range(3):
            wait_until(
                lambda life=life: (
                    sum(line.startswith("epoch     1 ") for line in machine.said()) == life + 1
                )
            )
            os.kill(machine.replicas()[0], signal.SIGKILL)
        assert machine.code() == RESTART
        assert sum("start again from the checkpoint" in line for line in machine.said()) == 2


def test_what_is_refused_is_not_tried_again(tmp_path: Path) -> None:
    archive = save(tmp_path / "data.npz", X_train=table()["X_train"] * 1e30)
    flags = ("--learning_rate", 1e15, "--checkpoint_every", 1)
    with job(1, archive, tmp_path / "run", *flags, CUDA_VISIBLE_DEVICES="0,1") as (machine,):
        assert machine.code() == 2
        assert machine.said().count(machine.said()[-1]) == 1  # once on each machine
        assert "no finite loss in epoch" in machine.said()[-1]


@pytest.mark.parametrize(
    ("whom", "every"), [pytest.param("all", 0, marks=pytest.mark.slow), ("the first only", 5)]
)
def test_ctrl_c_ends_all_replicas(archive: Path, tmp_path: Path, whom: str, every: int) -> None:
    """A terminal sends it to all of them, a notebook's button or a service to the first."""
    flags = (*FOR_LONG, "--checkpoint_every", every)
    with job(1, archive, tmp_path / "run", *flags, CUDA_VISIBLE_DEVICES="0,1") as (machine,):
        wait_until(lambda: any(line.startswith("epoch") for line in machine.said()))
        replicas = machine.replicas()
        machine.kill(signal.SIGINT) if whom == "all" else machine.process.send_signal(signal.SIGINT)
        assert machine.code() == 130
        assert not any(map(alive, replicas))
        assert "Traceback" not in machine.log.read_text(), machine.log.read_text()
        assert any("interrupted" in line for line in machine.said())


def test_ctrl_c_while_torch_is_imported_is_no_traceback(archive: Path, tmp_path: Path) -> None:
    with job(1, archive, tmp_path / "run", *FOR_LONG) as (machine,):
        maps = Path(f"/proc/{machine.process.pid}/maps")
        wait_until(lambda: "libtorch" in maps.read_text())
        machine.process.send_signal(signal.SIGINT)
        assert machine.code() == 130
        assert "Traceback" not in machine.log.read_text(), machine.log.read_text()


@pytest.mark.slow
def test_sigterm_to_a_machine_with_several_replicas_saves_and_leaves(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 200)
    two = {"CUDA_VISIBLE_DEVICES": "0,1"}
    for expected in (RESTART, 0):
        with job(1, archive, tmp_path / "run", *flags, "--checkpoint_every", 4, **two) as (
            machine,
        ):
            if expected:
                wait_until(lambda: has_checkpoints(tmp_path / "run"))
                machine.process.terminate()
            assert machine.code() == expected, machine.said()
    expected = undisturbed(pool, 2, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)


# ---- several GPUs -------------------------------------------------------------------------------
def test_a_machine_with_several_gpus_starts_a_replica_for_each_and_trains_one_model(
    archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 10)
    with job(1, archive, tmp_path / "run", *flags, CUDA_VISIBLE_DEVICES="0,1,2") as (machine,):
        assert machine.code() == 0, machine.said()
    assert metrics(tmp_path / "run")["world_size"] == 3
    train(archive, tmp_path / "one", *flags)
    weights = weights_of(tmp_path / "run"), weights_of(tmp_path / "one")
    torch.testing.assert_close(*weights, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_two_machines_with_two_gpus_each_train_one_model_of_four(
    archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 10, "--checkpoint_every", 5)
    two = {"CUDA_VISIBLE_DEVICES": "0,1"}
    with job(2, archive, tmp_path / "run", *flags, **two) as machines:
        assert [machine.code() for machine in machines] == [0, 0], [m.said() for m in machines]
        assert machines[1].said() == [
            "replica 2 of 4, rows 20 to 29", "replica 3 of 4, rows 30 to 40",
        ] or machines[1].said() == [
            "replica 3 of 4, rows 30 to 40", "replica 2 of 4, rows 20 to 29",
        ]  # fmt: skip
    assert metrics(tmp_path / "run")["world_size"] == 4
    train(archive, tmp_path / "one", *flags)
    weights = weights_of(tmp_path / "run"), weights_of(tmp_path / "one")
    torch.testing.assert_close(*weights, rtol=0, atol=1e-5)


@pytest.mark.parametrize("every", [0, pytest.param(5, marks=pytest.mark.slow)])
def test_machines_with_different_numbers_of_gpus_are_told_so_at_once(
    archive: Path, tmp_path: Path, every: int
) -> None:
    flags = ("--checkpoint_every", every)
    with job(2, archive, tmp_path / "run", *flags, CUDA_VISIBLE_DEVICES="0,1") as machines:
        machines[1].kill()
        machines[1].process.wait()
        machines[1].environment["CUDA_VISIBLE_DEVICES"] = "0"
        machines[1].log = tmp_path / "again.log"
        machines[1].start()
        assert [machine.code() for machine in machines] == [2, 2], [m.said() for m in machines]
        sentence = "train_nn.py: machines with different numbers of GPUs; choose machines alike"
        said = [[line for line in machine.said() if not line.startswith("waiting")]
                for machine in machines]  # fmt: skip
        assert [lines[-1] for lines in said] == [sentence, sentence]


@pytest.mark.parametrize(
    ("visible", "device", "replicas"),
    [("", "auto", 0), ("-1", "auto", 0), ("0", "auto", 0), ("0,1", "cpu", 0), ("0,1", "auto", 2),
     ("3,1,2", "cuda", 3), ("GPU-a1,GPU-b2", "auto", 2)],
)  # fmt: skip
def test_one_gpu_or_none_or_another_device_is_one_replica(
    visible: str, device: str, replicas: int
) -> None:
    flags = train_nn.parse_flags(["--train=t", "--val=v", f"--device={device}"])
    visible_gpus = {"CUDA_VISIBLE_DEVICES": visible}
    assert train_nn.companion("launch").count_replicas(flags, visible_gpus) == replicas


# ---- many losses --------------------------------------------------------------------------------
def survives(machines: list[Machine], folder: Path, kills: int, seed: int) -> int:
    """Kill at random until the job has ended, and start what has ended again, as a service does.

    Now one replica, now one machine, now all of them; now at any moment, so mostly while they start
    and meet, now soon after a checkpoint, so in the training. Returns the number of kills.
    """
    chance, done = random.Random(seed), 0
    end = time.monotonic() + 120 + 30 * kills

    def newest() -> str:
        return max(
            (path.name for path in folder.glob("checkpoints/worker-0/step-*.pt")), default=""
        )

    def next_due() -> tuple[float, str | None]:
        """When to kill, if given once another checkpoint than this one is the newest."""
        if chance.random() < 0.5:
            return chance.uniform(0, 3), None
        return chance.uniform(0, 0.3), newest()

    (pause, known), seen = next_due(), time.monotonic()
    while any(machine.process.poll() != 0 for machine in machines):
        assert time.monotonic() < end, [machine.said()[-9:] for machine in machines]
        for machine in machines:
            if machine.process.poll():
                assert machine.process.poll() in (RESTART, -signal.SIGKILL), machine.said()[-9:]
                machine.start()
        if known == newest():
            seen = time.monotonic()
        due = time.monotonic() > seen + pause and not (folder / "metrics.json").exists()
        running = [machine for machine in machines if machine.process.poll() is None]
        if done < kills and due and running:
            kind, one = chance.choice(["replica", "machine", "all"]), chance.choice(running)
            if kind == "replica":
                for pid in one.replicas():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        done += 1
            else:
                for machine in running if kind == "all" else [one]:
                    machine.kill()
                done += 1
            (pause, known), seen = next_due(), time.monotonic()
        time.sleep(0.02)
    return done


@pytest.mark.slow
def test_4_kills_at_random_moments_leave_the_weights_as_they_are_without(
    pool: Pool, archive: Path, tmp_path: Path
) -> None:
    flags = (*SMALL, "--epochs", 500)
    with job(2, archive, tmp_path / "run", *flags, "--checkpoint_every", 5) as machines:
        survives(machines, tmp_path / "run", kills=4, seed=random.randrange(2**32))
    expected = undisturbed(pool, 2, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)
    assert not (tmp_path / "run/checkpoints").exists()


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
    pool.patience = 1200
    expected = undisturbed(pool, size, archive, tmp_path / "other", *flags)
    assert torch.equal(weights_of(tmp_path / "run"), expected)
    assert not (tmp_path / "run/checkpoints").exists()


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
