"""Replicas that are forked from a process with torch imported are as any other replica."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local_cloud.engine import system
from local_cloud.engine.isolation import job_network, roots
from local_cloud.engine.processes import control_groups, reaper
from local_cloud.engine.spec import Plan, Replica, State
from local_cloud.engine.warm import fork_process, fork_server
from tests import hidden
from tests.engine.forks import TELLS, ended, only, plan, said
from tests.engine.forks import lighter as lighter
from tests.engine.forks import with_torch as with_torch
from tests.engine.support import (
    Cloud,
    alive,
    engine,
    outside,
    run,
    until,
    until_there,
    written,
)

pytestmark = pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "code").mkdir()
    path = tmp_path / "code/script.py"
    path.write_text(TELLS)
    yield path


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
            assert only(running)  # they were forked
            first, second = (said(running.log("both", name)) for name in ("r", "second"))
            assert first == second

    run(story())


def test_a_forked_replica_does_not_find_the_local_cloud(tmp_path: Path, script: Path) -> None:
    script.write_text(hidden.SCRIPT)

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(forked=plan(str(script)))) as running:
            job, told = await ended(running, "forked")
            assert only(running)  # it was forked
            assert job.state is State.SUCCEEDED, told

    run(story())


@pytest.mark.skipif(not control_groups.own_group(), reason="this user may make no groups here")
def test_a_forked_replica_joins_its_control_group_before_it_begins(
    tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_groups, "add", lambda pid, group: None)
    script.write_text('print(open("/proc/self/cgroup").read())\n')

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(forked=plan(str(script)))) as running:
            _, groups = await ended(running, "forked")
            assert only(running)  # it was forked
        assert f"/{reaper.PREFIX}" in groups

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
            lines = [said(log).split() for log in running.logs("both").values()]
            assert all("numpy" in modules for _, *modules in lines)  # they were forked
            (network,) = {number for number, *_ in lines}
            assert network != str(os.stat("/proc/self/ns/net").st_ino)

    run(story())


@pytest.mark.usefixtures("with_torch")
def test_a_forked_replica_may_fork_as_a_started_one_may(tmp_path: Path, script: Path) -> None:
    script.write_text(FORKS)
    one = plan(script.name, folder=script.parent, OMP_NUM_THREADS="4")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(one=one)) as running:
            _, log = await ended(running, "one")
            assert only(running)  # there was one
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


@pytest.mark.parametrize(
    "code",
    [
        "from threading import Event, Thread\nThread(target=Event().wait, daemon=True).start()",
        "import warnings\nwarnings.warn('this belongs into the log of each job')",
    ],
)
def test_a_process_with_threads_or_something_to_say_is_not_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    (tmp_path / "unusual.py").write_text(code)
    (tmp_path / "script.py").write_text("print('here')\n")
    monkeypatch.setattr(fork_server, "START", f"import sys\nsys.path[1:1] = [{str(tmp_path)!r}]"
                        + fork_server.START)  # fmt: skip
    monkeypatch.setattr(fork_server, "IMPORTED", ("unusual",))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(a=plan(str(tmp_path / "script.py")))) as here:
            assert (await ended(here, "a"))[1] == "here\n"
            assert not here._fork_server.processes

    run(story())


def test_there_is_a_process_for_each_number_of_threads_while_there_is_memory() -> None:
    async def story() -> None:
        server = fork_server.ForkServer()
        try:
            for threads in "1213":
                await server.ready({"OMP_NUM_THREADS": threads})
            assert [*server.processes] == [f'{{"OMP_NUM_THREADS": "{n}"}}' for n in "13"]
            server.free = 1e18
            await server.ready({"OMP_NUM_THREADS": "4"})
            assert len(server.processes) == 2
        finally:
            server.close()

    run(story())


def test_when_the_forking_process_hangs_the_replica_starts_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "FORKS", 0.2)
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")

    async def story() -> None:
        async with engine(
            tmp_path / "engine", Cloud(a=plan(str(script)), b=plan(str(script)))
        ) as e:
            await ended(e, "a")
            os.kill(only(e).pid, signal.SIGSTOP)
            assert (await ended(e, "b"))[1] == "here\n"

    run(story())


INTERRUPTED = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import math\ndef f():\n    return math.sqrt(-1)\nf()\n", "ValueError: "),
        ("print(1", "SyntaxError: "),
        (INTERRUPTED, "KeyboardInterrupt"),
        ("raise SystemExit('enough')", "enough"),
        (None, "can't open file"),
    ],
)
def test_a_failure_looks_like_that_of_a_started_replica(
    tmp_path: Path, code: str | None, reason: str
) -> None:
    script = tmp_path / "script.py"
    if code:
        script.write_text(code)
    plans = {name: plan(str(script), hot=name == "forked") for name in ("forked", "started")}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            job, forked = await ended(running, "forked")
            other, started = await ended(running, "started")
        assert reason in forked
        assert forked.replace("/jobs/forked/", "/jobs/started/") == started
        assert job.outcome and other.outcome and job.outcome.code == other.outcome.code

    run(story())


COMPUTES = """
import hashlib, numpy, os, tempfile, torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(77, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
X, y = torch.rand(801, 77), torch.rand(801, 1)
adam = torch.optim.Adam(model.parameters())
for _ in range(2):
    adam.zero_grad()
    torch.nn.functional.mse_loss(model(X), y).backward()
    adam.step()
A = numpy.random.default_rng(0).random((301, 203))
found = [A @ A.T, numpy.linalg.svd(A)[1], *(each.detach().numpy() for each in model.parameters())]
noted = torch._dynamo.config.debug_dir_root  # when the optimiser was made, or before
print(os.path.relpath(noted), tempfile.gettempdir() == os.environ["TMPDIR"])
print(torch.get_num_threads(), *(hashlib.sha256(each.tobytes()).hexdigest() for each in found))
"""


@pytest.mark.usefixtures("with_torch")
@pytest.mark.parametrize("size", [1, 2])  # a replica has two threads, or one
def test_results_are_those_of_a_started_replica_to_the_last_bit(
    tmp_path: Path, script: Path, size: int
) -> None:
    script.write_text(COMPUTES)
    plans = {
        name: Plan(tuple(dataclasses.replace(one, name=f"r{n}") for n in range(size)))
        for name in ("forked", "started")
        for one in plan(str(script), hot=name == "forked").replicas
    }

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans), cores=2) as running:
            for name in plans:
                running.submit("cloud", name, size)
                await until(running, name)
            texts = {said(log) for name in plans for log in running.logs(name).values()}
            assert len(texts) == 1, texts
            assert "torch_compile_debug True\n" in texts.pop()
            assert running.log("forked", "r0").read_text().startswith(fork_process.NOTE)

    asyncio.run(asyncio.wait_for(story(), 120))  # two imports of torch


def test_others_see_a_forked_replicas_own_command_and_variables(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, psutil, sys\nthis = psutil.Process()\n"
        "print(this.cmdline() == sys.orig_argv, this.environ() == dict(os.environ))\n"
    )

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script), LARGE="x" * 9000))) as e:
            assert (await ended(e, "job"))[1] == "True True\n"

    run(story())


def test_a_job_with_a_module_named_like_an_imported_one_is_started(tmp_path: Path) -> None:
    (tmp_path / "numbers.py").write_text("mine = 1\n")
    script = tmp_path / "script.py"
    script.write_text("import numbers, sys\nprint(numbers.mine, 'numpy' in sys.modules)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            await until(running, "job")
            assert running.log("job", "r").read_text() == "1 False\n"

    run(story())


def test_it_is_stopped_like_any_other_and_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, time\nprint(os.getpid())\ntime.sleep(60)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            await until(running, "job", State.RUNNING)
            _, said = await written(log := running.log("job", "r"), 2)
            pid = outside(log, int(said))
            running.stop("job")
            job = await until(running, "job")
            assert job.state is State.STOPPED and not alive(pid)
            forker = only(running)
            assert alive(forker.pid)
        assert not alive(forker.pid)

    run(story())


def test_what_a_forked_replica_sets_apart_from_itself_ends_with_its_job(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\nread, write = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n"
        "    os.write(write, str(os.getpid()).encode())\n    time.sleep(60)\n"
        f"print(os.read(read, 20).decode())\n{until_there(go := tmp_path / 'go')}"
    )

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            running.submit("cloud", "job", 1)
            _, said = await written(log := running.log("job", "r"), 2)
            pid = outside(log, int(said))
            go.touch()
            job = await until(running, "job")
            assert job.state is State.SUCCEEDED and not alive(pid)

    run(story())


def test_the_forking_processes_own_future_imports_are_not_the_scripts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def f(x: int): ...\nprint(f.__annotations__['x'] is int)\n")

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=plan(str(script)))) as running:
            assert (await ended(running, "job"))[1] == "True\n"

    run(story())


def test_when_the_forking_process_is_killed_the_next_replica_starts_all_the_same(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")
    plans = {name: plan(str(script)) for name in ("first", "second", "third")}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            assert (await ended(running, "first"))[1] == "here\n"
            process = only(running)._process
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
            running.submit("cloud", "job", 1)
            await until(running, "job", State.RUNNING)
            (process,) = running._fork_server._all
            job = await until(running, "job")
            assert job.state is State.SUCCEEDED  # its end is waited for
            assert said(running.log("job", "r")) == "here\n"
            while psutil.pid_exists(process.pid):  # nor does it stay as a zombie
                await asyncio.sleep(0.05)

    run(story())


@pytest.mark.skipif(not roots.available(), reason="this machine allows no mounts")
def test_it_sees_its_mounts_and_draws_its_own_random_numbers(tmp_path: Path) -> None:
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket/script.py").write_text("import numpy\nprint(numpy.random.rand())\n")
    command = (sys.executable, "/gcs-of-a-test/bucket/script.py")
    places = {"/gcs-of-a-test": tmp_path}
    made = Plan(tuple(Replica(f"r{n}", command, {}, mounts=places) for n in range(2)))

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(job=made)) as running:
            running.submit("cloud", "job", 2)
            job = await until(running, "job")
            logs = [said(running.log("job", f"r{n}")) for n in range(2)]
            assert job.state is State.SUCCEEDED, logs
            assert logs[0] != logs[1] and all(0 <= float(log) < 1 for log in logs)
        assert not os.path.exists("/gcs-of-a-test")

    run(story())


def test_what_forks_outlives_a_queue_that_was_handed_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('here')\n")
    kept = fork_server.ForkServer()

    async def story() -> None:
        pids = set[int]()
        for _ in range(2):  # as when all is emptied: the second finds what the first has left
            here = tmp_path / "engine"
            async with engine(here, Cloud(a=plan(str(script))), fork_server=kept) as running:
                assert (await ended(running, "a"))[1] == "here\n"
                pids.add(only(running).pid)
                running.delete("a")
        assert len(pids) == 1 and alive(*pids)
        kept.close()
        assert not alive(*pids)

    run(story())
