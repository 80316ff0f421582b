"""What a job pays for a root of its own: `python -m benchmarks.jobs.roots [ROUNDS]`.

The same jobs run in engines that differ in the level of isolation only; they take turns. Prints
seconds from `submit` to the end of the job (medians), how long a training loop takes inside, and
the memory of 20 jobs that wait.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import psutil

from local_cloud.engine.isolation.roots import Isolation, Level
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import Job, JobContext, Plan, Replica
from local_cloud.store.records import Records

TRAINING = """
import time, torch
model = torch.nn.Sequential(torch.nn.Linear(7, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
adam, X, y = torch.optim.Adam(model.parameters()), torch.rand(569, 7), torch.rand(569, 1)
began = time.perf_counter()
for _ in range(1000):
    adam.zero_grad()
    torch.nn.functional.mse_loss(model(X), y).backward()
    adam.step()
print(time.perf_counter() - began)
"""
COMMANDS = {
    "`true`": ("true",),
    "`python -c pass`": (sys.executable, "-c", "pass"),
    "a script that imports torch, cold": (sys.executable, "-c", "import torch"),
    "1,000 steps, warm": (sys.executable, "train.py"),
}
WAITING = 20


class Cloud:
    """A dialect whose jobs are named after their commands."""

    def __init__(self, folder: Path) -> None:
        """folder: with the script."""
        self._folder = folder

    def stage(self, job_id: str, context: JobContext) -> Plan:
        """Return the command of a job's number, in the name before the first dash."""
        number = int(job_id.split("-")[0])
        command = [*COMMANDS.values(), ("sleep", "600")][number]
        own = context.folder / "r"
        own.mkdir(parents=True)
        (own / "train.py").write_text(TRAINING, encoding="utf-8")
        return Plan((Replica("r", command, {}, mounts={"/gcs": self._folder}),))

    def collect(self, job: Job) -> None:
        """Take nothing away."""


async def open_engine(folder: Path, level: Level) -> JobQueue:
    """Return a running engine of this level."""
    folder.mkdir()
    engine = JobQueue(folder / "jobs", Records(folder / "records.db"), cores=WAITING)
    await engine.start({"cloud": Cloud(folder)})
    if level is Level.UNPROTECTED:
        engine.isolation = Isolation(level, False)
    else:
        engine.isolation = replace(engine.isolation, level=level)
    return engine


async def run_job(engine: JobQueue, name: str) -> tuple[float, str]:
    """Return the seconds that a job took, and its log."""
    began = time.perf_counter()
    job = engine.submit("cloud", name, 1)
    while not job.state.ended:
        job = await engine.wait_for_change(job, 60)
    assert job.outcome and job.outcome.code is None, job.outcome
    return time.perf_counter() - began, engine.log(name, "r").read_text(encoding="utf-8")


def memory_of(engine: JobQueue) -> float:
    """Return the MB that the processes of the waiting jobs take: each page divided by its users."""
    mark = str(engine._folder)
    total = 0
    for each in psutil.process_iter():
        try:
            variables = each.environ()
            if variables.get("LOCAL_CLOUD_ENGINE") == mark and "LOCAL_CLOUD_JOB" in variables:
                total += each.memory_full_info().pss
        except psutil.Error:
            continue
    return total / 1e6


async def measure(rounds: int) -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp(prefix="roots-"))
    engines = {level: await open_engine(folder / level.name, level) for level in Level}
    seconds = defaultdict[tuple[str, Level], list[float]](list)
    for turn in range(rounds + 1):
        for number, what in enumerate(COMMANDS):
            for level, engine in engines.items():
                took, log = await run_job(engine, f"{number}-{turn}")
                if turn:  # the first one has a warm process started
                    seconds[what, level].append(took)
                    if "steps" in what:
                        seconds["the loop of these steps alone", level].append(
                            float(log.splitlines()[-1])
                        )
    print("| median, s |", " | ".join(engines), "|\n|---|---:|---:|---:|")
    for what in (*COMMANDS, "the loop of these steps alone"):
        medians = [f"{statistics.median(seconds[what, level]):.3f}" for level in engines]
        print(f"| {what} |", " | ".join(medians), "|")
    cells = []
    for engine in engines.values():
        for number in range(WAITING):
            engine.submit("cloud", f"{len(COMMANDS)}-waits{number}", 1)
        await asyncio.sleep(10)
        cells.append(f"{memory_of(engine):.0f} MB")
        await engine.close()
    print(f"| memory of {WAITING} jobs that wait |", " | ".join(cells), "|")


if __name__ == "__main__":
    asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 15))
