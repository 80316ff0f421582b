"""Replicas that are forked from a process with torch imported are as any other replica."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local_cloud.engine import system
from local_cloud.engine.isolation import job_network, mounts
from local_cloud.engine.jobs import fork_server
from local_cloud.engine.jobs.queue import Engine
from local_cloud.engine.spec import Job, Plan, Replica, State
from tests.local_cloud.engine.support import SLEEP, Cloud, alive, engine, run, until, written

pytestmark = pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")

PYTHON = Path(sys.executable)

# Says all that a replica may know of itself; numpy was there before it began, or was not.
TELLS = """
import sys
before = "numpy" in sys.modules
import os, pickle
class Mine: pass
mine = pickle.loads(pickle.dumps(Mine()))
print(sorted((n, v) for n, v in os.environ.items() if n not in VARIES))
print(__name__, sys.argv[1:], os.path.basename(sys.argv[0]), os.getcwd() == os.environ["HERE"])
print(os.getpid() == os.getsid(0) == os.getpgid(0), sys.stdin.read() == "")
print(sorted(os.listdir("/proc/self/fd")))
print(sys.path[0] == os.environ["FIRST"], sys.path[1])
print(sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.path[1:])
print("warm" if before else "cold", file=sys.stderr)
sys.exit(7)
""".replace("VARIES", repr(("HOME", "TMPDIR", "LOCAL_CLOUD_JOB")))


WITH_TORCH = fork_server.IMPORTED


@pytest.fixture(autouse=True)
def lighter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch, where a test does not look for it, a process is ready sooner."""
    monkeypatch.setattr(fork_server, "IMPORTED", ("numpy",))


@pytest.fixture
def with_torch(lighter: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "IMPORTED", WITH_TORCH)


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "code").mkdir()
    path = tmp_path / "code/script.py"
    path.write_text(TELLS)
    yield path


def plan(*command: str, hot: bool = True, folder: Path | None = None, **environment: str) -> Plan:
    return Plan((Replica("r", (sys.executable, *command), environment, folder, forkable=hot),))


async def ended(engine: Engine, name: str) -> tuple[Job, str]:
    engine.submit("cloud", name, 1)
    job = await until(engine, name)
    return job, engine.log(name, "r").read_text()


@pytest.mark.parametrize("module", [False, True])
def test_a_forked_replica_finds_what_a_started_one_does(
    tmp_path: Path, script: Path, module: bool
) -> None:
    command = ("-m", "script", "--x", "1 2") if module else (str(script), "--x", "1 2")
    here = str(tmp_path)
    about = {"PYTHONPATH": str(script.parent), "HERE": here}
    about["FIRST"] = here if module else str(script.parent)
    plans = {
        name: plan(*command, hot=name == "forked", folder=tmp_path, **about)
        for name in ("forked", "started")
    }

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            job, forked = await ended(running, "forked")
            other, started = await ended(running, "started")
        forked = forked.replace("/jobs/forked/", "/jobs/started/")
        assert forked.replace("warm\n", "cold\n") == started
        assert forked.count("warm\n") == started.count("cold\n") == 1
        assert job.outcome and other.outcome and job.outcome.code == other.outcome.code == 7

    run(story())


def test_a_replica_holds_nothing_open_of_those_that_were_forked_before(
    tmp_path: Path, script: Path
) -> None:
    script.write_text('import os; print(sorted(os.listdir("/proc/self/fd")))\n')
    (first,) = plan(str(script)).replicas
    both = Plan((first, dataclasses.replace(first, name="second")))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(both=both)) as running:
            running.submit("cloud", "both", 2)
            await until(running, "both")
            assert running._fork_server._line  # they were forked
            first, second = (running.log("both", name).read_text() for name in ("r", "second"))
            assert first == second

    run(story())


# Trains, which makes torch's threads, and has other processes of every kind.
FORKS = """
import multiprocessing, os, sys

def train():
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(7, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    X, y = torch.rand(4096, 7), torch.rand(4096, 1)
    torch.nn.functional.mse_loss(model(X), y).backward()
    print("trained", flush=True)

if __name__ == "__main__":
    if os.fork() == 0:
        train()
        sys.exit(3)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    for how, work in (("fork", train), ("spawn", os.getpid)):
        process = multiprocessing.get_context(how).Process(target=work)
        process.start()
        process.join()
        print(how, process.exitcode, flush=True)
    train()
    import torch
    rows = torch.utils.data.TensorDataset(torch.ones(8, 3))
    loader = torch.utils.data.DataLoader(rows, batch_size=4, num_workers=1)
    print([batch.sum().item() for batch, in loader])
"""


@pytest.mark.skipif(not job_network.available(), reason="no job has a network of its own here")
def test_forked_replicas_of_a_job_share_its_network(tmp_path: Path, script: Path) -> None:
    script.write_text('import os, sys; print(os.stat("/proc/self/ns/net").st_ino, *sys.modules)\n')
    (first,) = plan(str(script)).replicas
    both = Plan((first, dataclasses.replace(first, name="second")))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(both=both)) as running:
            running.submit("cloud", "both", 2)
            await until(running, "both")
            said = [log.read_text().split() for log in running.logs("both").values()]
            assert all("numpy" in modules for _, *modules in said)  # they were forked
            (network,) = {number for number, *_ in said}
            assert network != str(os.stat("/proc/self/ns/net").st_ino)

    run(story())


@pytest.mark.usefixtures("with_torch")
def test_a_forked_replica_may_fork_as_a_started_one_may(tmp_path: Path, script: Path) -> None:
    script.write_text(FORKS)
    one = plan(script.name, folder=script.parent, OMP_NUM_THREADS="4")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(one=one)) as running:
            _, log = await ended(running, "one")
            assert running._fork_server._line  # there was one
            assert log == ("trained\n3\ntrained\nfork 0\nspawn 0\ntrained\n[12.0, 12.0]\n")

    run(story())


@pytest.mark.usefixtures("with_torch")
def test_other_early_settings_need_another_process_and_each_replica_draws_other_numbers(
    tmp_path: Path, script: Path
) -> None:
    script.write_text(
        "import sys\nwarm = 'torch' in sys.modules\nimport torch\n"
        "print(torch.get_num_threads(), 'warm' if warm else 'cold')\n"
        "print(torch.initial_seed(), torch.rand(1).item())\n"
    )
    threads = {"one": "1", "two": "2", "other": "2"}
    plans = {
        name: plan(str(script), OMP_NUM_THREADS=count, MKL_NUM_THREADS=count)
        for name, count in threads.items()
    }

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            logs = {name: (await ended(running, name))[1].split() for name in plans}
        assert {name: log[:2] for name, log in logs.items()} == {
            name: [count, "warm"] for name, count in threads.items()
        }
        for drawn in zip(*(log[2:] for log in logs.values()), strict=True):
            assert len(set(drawn)) == 3

    run(story())


def test_a_process_with_threads_is_not_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "threads_on_import.py").write_text(
        "from threading import Event, Thread\nThread(target=Event().wait, daemon=True).start()"
    )
    (tmp_path / "script.py").write_text("print('here')\n")
    monkeypatch.setattr(fork_server, "START", f"import sys\nsys.path[1:1] = [{str(tmp_path)!r}]"
                        + fork_server.START)  # fmt: skip
    monkeypatch.setattr(fork_server, "IMPORTED", ("threads_on_import",))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(a=plan(str(tmp_path / "script.py")))) as here:
            assert (await ended(here, "a"))[1] == "here\n"
            assert here._fork_server._line is None

    run(story())


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import math\ndef f():\n    return math.sqrt(-1)\nf()\n", "ValueError: "),
        ("print(1", "SyntaxError: "),
        (None, "can't open file"),
    ],
)
def test_a_failure_looks_like_that_of_a_started_replica(
    tmp_path: Path, code: str | None, said: str
) -> None:
    script = tmp_path / "script.py"
    if code:
        script.write_text(code)
    plans = {name: plan(str(script), hot=name == "forked") for name in ("forked", "started")}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            job, forked = await ended(running, "forked")
            other, started = await ended(running, "started")
        forked = forked.replace("/jobs/forked/", "/jobs/started/")
        assert said in forked and "fork_server.py" not in forked
        assert forked.splitlines()[-1].split(":")[0] == started.splitlines()[-1].split(":")[0]
        assert job.outcome and other.outcome and job.outcome.code == other.outcome.code

    run(story())


def test_it_is_stopped_like_any_other_and_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, time\nprint(os.getpid())\ntime.sleep(60)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            await until(running, "job", State.RUNNING)
            (pid,) = await written(running.log("job", "r"))
            running.stop("job")
            job = await until(running, "job")
            assert job.state is State.STOPPED and not alive(int(pid))
            forker = running._fork_server._process
            assert forker and alive(forker.pid)
        assert not alive(forker.pid)

    run(story())


def test_what_a_forked_replica_sets_apart_from_itself_ends_with_its_job(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        "    os.write(write, str(os.getpid()).encode())\n    time.sleep(60)\n"
        "print(os.read(read, 20).decode())\n"
    )

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            job, log = await ended(running, "job")
            assert job.state is State.SUCCEEDED and not alive(int(log))

    run(story())


def test_the_forking_processes_own_future_imports_are_not_the_scripts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def f(x: int): ...\nprint(f.__annotations__['x'] is int)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            assert (await ended(running, "job"))[1] == "True\n"

    run(story())


def test_what_cannot_be_forked_is_started(tmp_path: Path) -> None:
    odd = Plan((Replica("r", (*SLEEP[:2], "print('here')"), {}, forkable=True),))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(odd=odd)) as running:
            job, log = await ended(running, "odd")
            assert job.state is State.SUCCEEDED and log == "here\n"

    run(story())
    assert not fork_server.suits(("bash", "x.py"), {}, PYTHON)
    assert not fork_server.suits(("python",), {}, PYTHON)
    assert not fork_server.suits(("python", "x.py"), {"PYTHONHASHSEED": "0"}, PYTHON)


def test_when_the_forking_process_is_killed_the_next_replica_starts_all_the_same(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")
    plans = {name: plan(str(script)) for name in ("first", "second", "third")}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            assert (await ended(running, "first"))[1] == "here\n"
            process = running._fork_server._process
            assert process
            process.kill()
            process.wait()
            for name in ("second", "third"):
                assert (await ended(running, name))[1] == "here\n"

    run(story())


def test_it_ends_when_nobody_has_asked_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "IDLE", 0.1)
    script = tmp_path / "script.py"
    script.write_text("import time\ntime.sleep(0.5)\nprint('here')\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            job, log = await ended(running, "job")
            assert job.state is State.SUCCEEDED and log == "here\n"  # its end is waited for
            process = running._fork_server._process
            assert process
            while psutil.pid_exists(process.pid):  # nor does it stay as a zombie
                await asyncio.sleep(0.05)

    run(story())


@pytest.mark.skipif(not mounts.available(), reason="this machine allows no mounts")
def test_it_sees_its_mounts_and_draws_its_own_random_numbers(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket/script.py").write_text("import numpy\nprint(numpy.random.rand())\n")
    command = (sys.executable, "/gcs-of-a-test/bucket/script.py")
    places = {"/gcs-of-a-test": tmp_path}
    made = Plan(
        tuple(Replica(f"r{n}", command, {}, mounts=places, forkable=True) for n in range(2))
    )

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=made)) as running:
            running.submit("cloud", "job", 2)
            job = await until(running, "job")
            logs = [running.log("job", f"r{n}").read_text() for n in range(2)]
            assert job.state is State.SUCCEEDED, logs
            assert logs[0] != logs[1] and all(0 <= float(log) < 1 for log in logs)
        assert not os.path.exists("/gcs-of-a-test")

    run(story())
