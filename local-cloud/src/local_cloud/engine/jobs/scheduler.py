"""Whose turn it is: strictly in order, and no job holds back the others for ever.

A job holds its cores and GPUs while it runs. While others wait it no longer does once it seems to
be stuck, or has held them for long: it runs on, and the next one starts beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

PERIOD = 5.0  # seconds between two looks at the running jobs, while others wait
# Seconds without work after which a job seems to be stuck. Whatever computes works all the time; a
# download or a question to a server takes less.
IDLE = 30.0
WORK = 0.01  # of one core; less is what a process does that waits and looks around now and then
# Seconds for which a job may hold back others: longer than most jobs on a laptop take, and as long
# as somebody can bear to wait for a program that never ends.
PATIENCE = 900.0


@dataclass(frozen=True)
class Demand:
    """What a job takes from the machine while it runs."""

    id: str
    cores: int
    gpus: int = 0


def limit_demand(
    job_id: str, *, size: int, gpus: int, machine_cores: int, machine_gpus: int
) -> Demand:
    """Return what a job of `size` replicas takes.

    That is never more than there is, so that every job can run.
    """
    return Demand(job_id, min(size, machine_cores), min(gpus, machine_gpus))


def next_to_start(waiting: Iterable[Demand], free_cores: int, free_gpus: int) -> list[Demand]:
    """Return the jobs that start now, given those waiting in the order in which they came.

    Strictly in order: a job that does not fit yet holds back all behind it. Some cores then idle
    for a while, and in return no job waits for ever while smaller ones overtake it.
    """
    starting = []
    for job in waiting:
        if job.cores > free_cores or job.gpus > free_gpus:
            break
        starting.append(job)
        free_cores -= job.cores
        free_gpus -= job.gpus
    return starting


class Holding:
    """How long a running job has held back others, and whether it works."""

    def __init__(self, now: float, work: float) -> None:
        """now: seconds of any clock; work: the CPU seconds of the job's processes so far."""
        self._waited = 0.0
        self._looked = self._worked = now
        self._work = work

    def look(self, now: float, work: float) -> None:
        """Note that others have been waiting since the last look, or for a moment."""
        self._waited += min(now - self._looked, 2 * PERIOD)
        # What has ended takes its seconds with it: any change is work.
        if abs(work - self._work) > WORK * max(now - self._worked, PERIOD):
            self._worked, self._work = now, work
        self._looked = now

    @property
    def over(self) -> bool:
        """Return whether it holds back nobody any more."""
        return self._waited >= PATIENCE or self._looked - self._worked >= IDLE


class Scheduler:
    """What the running jobs have of the machine, and which of those that wait start now."""

    def __init__(self, cores: int, gpus: Sequence[int]) -> None:
        """cores, and the GPUs by number: what there is."""
        self._cores, self._gpus = cores, gpus
        self._taken: dict[str, tuple[Demand, tuple[int, ...]]] = {}  # by running job
        self._holdings: dict[str, Holding] = {}

    @property
    def running_jobs(self) -> list[str]:
        """Return the jobs that run."""
        return list(self._taken)

    def demand_of(self, job_id: str, size: int, gpus: int) -> Demand:
        """Return what a job of `size` replicas takes of this machine."""
        return limit_demand(
            job_id, size=size, gpus=gpus, machine_cores=self._cores, machine_gpus=len(self._gpus)
        )

    def next_to_start(self, waiting: Iterable[Demand]) -> list[Demand]:
        """Return the jobs that start now, given those waiting in the order in which they came."""
        held = [taken for job, (taken, _) in self._taken.items() if self.holds(job)]
        return next_to_start(
            waiting, self._cores - sum(one.cores for one in held), len(self._idle())
        )

    def _idle(self) -> list[int]:
        """Return the GPUs that no job holds, first those that no job has."""
        held = {gpu for job, (_, gpus) in self._taken.items() if self.holds(job) for gpu in gpus}
        users = Counter(gpu for _, gpus in self._taken.values() for gpu in gpus)
        return sorted(set(self._gpus) - held, key=lambda gpu: (users[gpu], gpu))

    def take(self, job: Demand) -> tuple[int, ...]:
        """Take the GPUs of a job, which is due and runs; return them."""
        gpus = tuple(self._idle()[: job.gpus])
        self._taken[job.id] = job, gpus
        return gpus

    def release(self, job_id: str) -> None:
        """Note that the job has ended."""
        self._taken.pop(job_id)
        self._holdings.pop(job_id, None)

    def look(self, now: float, work: Mapping[str, float]) -> None:
        """Look, every PERIOD while jobs wait; work: CPU seconds of the running jobs."""
        for job in self._taken.keys() & work.keys():
            holding = self._holdings.setdefault(job, Holding(now, work[job]))
            holding.look(now, work[job])

    def holds(self, job_id: str) -> bool:
        """Return whether a running job keeps others from starting."""
        holding = self._holdings.get(job_id)
        return holding is None or not holding.over
