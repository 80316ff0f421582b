"""A small cloud whose jobs are what a test says, and ways to run and watch them."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.processes import reaper
from local_cloud.engine.spec import Job, JobContext, Plan, Replica, State
from local_cloud.engine.warm.warm_start import ForkServer
from local_cloud.store.records import Records
from local_cloud.store.space import Space

LONG = 60  # seconds that no test waits for


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


SLEEP = python(f"import time; time.sleep({LONG})")
# Ignores SIGTERM; says when it does.
STUBBORN = python(
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    f"print('deaf'); time.sleep({LONG})"
)
# Its child leaves the group and the session; both sleep.
LEAVES = python(
    "import subprocess, sys, time;"
    f"nap = [sys.executable, '-c', 'import time; time.sleep({LONG})'];"
    "child = subprocess.Popen(nap, start_new_session=True);"
    f"print(child.pid); time.sleep({LONG})"
)


def until_there(path: Path) -> str:
    """Code that waits until there is a file at this path."""
    return f"import os, time\nwhile not os.path.exists({str(path)!r}):\n    time.sleep(0.01)\n"


def plan(*commands: tuple[str, ...], **options: Any) -> Plan:
    """Replicas r0, r1, … with these commands."""
    replicas = tuple(Replica(f"r{n}", command, {}) for n, command in enumerate(commands))
    return Plan(replicas, **options)


def folder_of_test(context: JobContext) -> dict[str, Path]:
    """The test's own folder as a mount: what it wrote for its jobs, and what they write for it."""
    for folder in context.folder.parents:
        if folder.parent.name.startswith(("pytest-", "popen-gw")):
            return {str(folder): folder}
    return {}


class Cloud:
    """A dialect: a job's plan is looked up, or worked out from its place.

    Its jobs see the test's folder, which is in /tmp, where each job has a folder of its own.
    """

    def __init__(self, **plans: Plan | Callable[[JobContext], Plan]) -> None:
        self.plans = plans
        self.collected: list[Job] = []

    def stage(self, job_id: str, context: JobContext) -> Plan:
        made = self.plans[job_id]
        made = made if isinstance(made, Plan) else made(context)
        replicas = [
            replace(each, mounts={**folder_of_test(context), **each.mounts})
            for each in made.replicas
        ]
        return replace(made, replicas=tuple(replicas))

    def collect(self, job: Job) -> None:
        self.collected.append(job)


@asynccontextmanager
async def engine(
    folder: Path,
    cloud: Any = None,
    cores: int = 4,
    hook: Path | None = None,
    space: Space | None = None,
    fork_server: ForkServer | None = None,
) -> AsyncIterator[JobQueue]:
    """A running engine on a folder; the next one on the same folder finds what this one left."""
    folder.mkdir(exist_ok=True)
    records = Records(folder / "records.db")
    running = JobQueue(
        folder / "jobs", records, cores=cores, hook=hook, space=space, fork_server=fork_server
    )
    await running.start({"cloud": cloud or Cloud()})
    try:
        yield running
    finally:
        await running.close()
        records.close()


def run(story: Coroutine[Any, Any, None]) -> None:
    """Play a test's story on a loop of its own, for half a minute at most."""
    asyncio.run(asyncio.wait_for(story, 30))


async def until(engine: JobQueue, job_id: str, *states: State) -> Job:
    """The job as soon as it is in one of these states; no states: as soon as it has ended."""
    job = engine.get(job_id)
    while not (job.state in states if states else job.state.ended):
        job = await engine.wait_for_change(job, 10)
    return job


async def written(log: Path, lines: int = 1) -> list[str]:
    """The lines of a log as soon as there are so many."""
    while not log.exists() or log.read_text().count("\n") < lines:
        await asyncio.sleep(0.01)
    return log.read_text().splitlines()


def outside(log: Path, inner: int) -> int:
    """The number on this machine of a process that has the number `inner` in its job.

    log: of its replica, in the engine's folder. Waits until the process can be found. A number that
    a job says must not be used here before: on this machine it is somebody else's.
    """
    own = str(log.parent / log.stem)
    return outside_of(log.parents[1], log.parent.name, own, inner)


def outside_of(engine: Path, job: str, own: str, inner: int) -> int:
    """The number on this machine of a process of a job's; own: the replica's folder."""
    marks = [f"LOCAL_CLOUD_ENGINE={engine.resolve()}", f"LOCAL_CLOUD_JOB={job}"]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        pids = [pid for pid in reaper.find_living((), marks) if number_inside(pid) == inner]
        if len(pids) > 1:  # each replica has a process of this number
            pids = [pid for pid in pids if home_of(pid).startswith(f"{own}/")]
        if len(pids) == 1:
            return pids[0]
        time.sleep(0.02)
    raise ProcessLookupError(f"process {inner} of job {job}")


def number_inside(pid: int) -> int | None:
    """The number of a process among the innermost that it belongs to."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None if Path("/proc/self/status").exists() else pid  # it has ended; or macOS
    numbers = re.search(r"^NSpid:\s*(.*)$", status, re.MULTILINE)
    return int(numbers[1].split()[-1]) if numbers else pid


def home_of(pid: int) -> str:
    """HOME of a process, which is in the folder of its replica."""
    try:
        return psutil.Process(pid).environ().get("HOME", "")
    except psutil.Error:
        return ""


def alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and waits for its parent does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(*pids: int, within: float) -> bool:
    """Whether all these processes have ended within so many seconds."""
    deadline = time.monotonic() + within
    while any(map(alive, pids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


async def ended(engine: JobQueue, job_id: str, size: int = 1) -> Job:
    """Send a job and wait for its end."""
    engine.submit("cloud", job_id, size)
    return await until(engine, job_id)
