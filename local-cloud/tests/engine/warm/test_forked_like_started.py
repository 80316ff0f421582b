"""What a forked replica computes, prints and may do is what a started one does."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path

import pytest

from local_cloud.engine import system
from local_cloud.engine.isolation import job_network
from local_cloud.engine.spec import Plan
from local_cloud.engine.warm import fork_process, fork_server
from tests.engine.forks import ended, only, plan, said
from tests.engine.forks import lighter as lighter
from tests.engine.forks import with_torch as with_torch
from tests.engine.support import Cloud, engine, run, until
from tests.engine.warm.test_fork_server import script as script

pytestmark = pytest.mark.skipif(not system.LINUX, reason="forks on Linux only")


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


INTERRUPTED = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


HOW = ("forked", "started")
FAILURES = {
    "ValueError: ": "import math\ndef f():\n    return math.sqrt(-1)\nf()\n",
    "SyntaxError: ": "print(1",
    "KeyboardInterrupt": INTERRUPTED,
    "enough": "raise SystemExit('enough')",
    "can't open file": None,
}


def test_a_failure_looks_like_that_of_a_started_replica(tmp_path: Path) -> None:
    plans = {}
    for number, code in enumerate(FAILURES.values()):
        script = tmp_path / f"script-{number}.py"
        if code:
            script.write_text(code)
        plans |= {f"{how}-{number}": plan(str(script), hot=how == "forked") for how in HOW}

    async def story() -> None:
        async with engine(tmp_path / "engine", Cloud(**plans)) as running:
            for number, reason in enumerate(FAILURES):
                job, forked = await ended(running, f"forked-{number}")
                other, started = await ended(running, f"started-{number}")
                assert reason in forked
                assert forked.replace("/jobs/forked-", "/jobs/started-") == started
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
