"""The engine: a queue of jobs on this machine, their records, and the way in for the dialects."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from local_cloud.client.failures import JOB
from local_cloud.engine import machine
from local_cloud.engine.base import Base, BaseOf, own_only, server_base
from local_cloud.engine.dialect import TrainingDialect
from local_cloud.engine.environments.environments import Environments
from local_cloud.engine.environments.job_environment import write_scripts
from local_cloud.engine.isolation import job_network
from local_cloud.engine.isolation.roots import Isolation
from local_cloud.engine.jobs import job_table, scheduler
from local_cloud.engine.jobs.attempt_runner import check_name
from local_cloud.engine.jobs.job_runner import JobRunner, RunnerParts
from local_cloud.engine.jobs.job_table import JobTable, cut_off, with_outcome
from local_cloud.engine.jobs.remover import Remover
from local_cloud.engine.jobs.scheduler import Scheduler
from local_cloud.engine.logs import log_timestamps
from local_cloud.engine.processes import control_groups, reaper
from local_cloud.engine.processes.replica import ReplicaContext, log_path
from local_cloud.engine.rehearsals import spot_stop
from local_cloud.engine.rehearsals.failures import Failures
from local_cloud.engine.rental import RentedResource
from local_cloud.engine.spec import Attempt, EngineError, Job, Outcome, State
from local_cloud.engine.warm.warm_start import ForkServer
from local_cloud.store import clock
from local_cloud.store.records import NOT_WRITTEN, Records
from local_cloud.store.space import Space, limit

LEFTOVER_GRACE = 5.0  # seconds between SIGTERM and SIGKILL for what a killed server left behind
LOST = Outcome(
    State.FAILED,
    "lost",
    "The local cloud ended while this job was running, and the job's processes were ended too;"
    " what it had written is kept. Send the job again.",
)
STOPPED = Outcome(State.STOPPED, "stopped", "The job was stopped on request.")


class JobQueue:
    """Runs jobs, each of several replicas, on this machine; its records outlive it.

    Everything but staging and collecting happens on the loop that called start().
    """

    def __init__(
        self,
        folder: Path,
        records: Records,
        *,
        cores: int | None = None,
        hook: Path | None = None,
        space: Space | None = None,
        hidden: str = "",
        base_of: BaseOf = own_only,
        door: job_network.Door | None = None,
        private: Sequence[Path] = (),
        given: Sequence[Path] = (),
        fork_server: ForkServer | None = None,
    ) -> None:
        """folder: where the jobs' folders and logs are, this engine's alone; cores: None, all.

        hook: a file that every Python of a job runs when it starts. space: how much may be
        written; None: what this machine allows by default. hidden: a text that nobody is to
        read in a log. base_of: what jobs of an image stand on. door: how jobs that have a
        network of their own reach the server. private: folders that no job may see, beside the
        homes and the jobs' own; given: what of them all jobs see. fork_server: one that outlives
        this queue; None: one that ends with it.
        """
        self._folder = folder.resolve()
        self._records = records
        self._dialects: Mapping[str, TrainingDialect] = {}
        self._cores = cores or machine.cores()
        self._hook, self._base_of, self._space, self._door = hook, base_of, space, door
        self.hidden = hidden.encode()
        self._private, self._given = (self._folder, *private), given
        self._gpus: tuple[int, ...] = ()
        self.ports = machine.Ports()
        self.failures = Failures(records)
        self._jobs = JobTable(records)
        self._turn = 0  # of the latest job
        self._runners: dict[str, JobRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._searching: asyncio.Task[None] | None = None
        self._remover = Remover(self._folder)
        self._open = False
        self._is_due = False  # a look whose turn it is
        self._fork_server = fork_server or ForkServer()
        self._ends_fork_server = fork_server is None
        # By the first mark a later server finds what this one left, by the second the reaper
        # finds this server's replicas and not those of a server that has taken its place.
        self._engine_mark = {"LOCAL_CLOUD_ENGINE": str(self._folder)}
        self._run_mark = self._fork_server.mark

    async def start(self, dialects: Mapping[str, TrainingDialect]) -> None:
        """Put in order what an earlier server left, start the reaper and the queue.

        dialects: the clouds that can send jobs, by the names that submit() is given.
        """
        self._dialects = dialects
        self._folder.mkdir(parents=True, exist_ok=True)
        self._space = self._space or Space(self._folder, limit({}))
        self._own = server_base(await asyncio.to_thread(write_scripts, self._folder / ".bin"))
        # What is left is ended before a record says so.
        await asyncio.to_thread(reaper.end, (), reaper.entries(self._engine_mark), LEFTOVER_GRACE)
        self._gpus, self.isolation, *_ = await asyncio.gather(
            asyncio.to_thread(machine.gpus),
            asyncio.to_thread(Isolation.find, self._folder, self._private, self._given),
            asyncio.to_thread(control_groups.remove, self._engine_mark),
            asyncio.to_thread(job_network.available),
        )
        self._remover.start()
        self._scheduler = Scheduler(self._cores, self._gpus)
        for job in self._jobs.load():
            self._turn = job.turn
            if job.state is not State.QUEUED and not job.state.ended:
                ending = STOPPED if job.state is State.STOPPING else LOST
                self._finish(cut_off(job, self._folder / job.id), ending)
        self._searching = asyncio.create_task(self._search_left())
        self._rehearsals = spot_stop.Rehearsals(self._records)
        self.reaper = reaper.Reaper(reaper.entries(self._run_mark))
        self._shared = RunnerParts(
            jobs=self._jobs,
            dialects=dialects,
            failures=self.failures,
            rehearsals=self._rehearsals,
            reaper=self.reaper,
            fork_server=self._fork_server,
            ports=self.ports,
            space=self.space,
            door=self._door,
            base=self.base,
            prepare=self.make_environment,
        )
        self._open = True
        self._next()

    async def _search_left(self) -> None:
        """Hide the secret in what a killed server has left of logs; nothing waits for this.

        Whoever reads such a log meanwhile has it searched first. Logs that were searched to their
        end cost a look at their marks.
        """
        ended = [job.id for job in self._jobs if job.state.ended]
        logs = (log for job_id in ended for log in (self._folder / job_id).glob("*.log"))
        await log_timestamps.recover(logs, self.hidden)

    def hold(self) -> None:
        """Begin no more jobs: those that come from now on wait for the next start."""
        self._open = False

    async def close(self) -> None:
        """Stop the running jobs, whose outcome is "lost"; queued ones wait for the next start."""
        self._open = False
        for runner in self._runners.values():
            runner.stop(LOST)
        if self._looking:
            self._looking.cancel()
        if self._searching:
            self._searching.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        self._jobs.write_all()
        if self._ends_fork_server:
            await asyncio.to_thread(self._fork_server.close)
        await asyncio.to_thread(self.reaper.close)
        await asyncio.to_thread(self._remover.close)

    @property
    def gpus(self) -> int:
        """Return how many GPUs this machine has."""
        return len(self._gpus)

    @property
    def space(self) -> Space:
        """Return how much may be written."""
        assert self._space
        return self._space

    async def make_environment(self, context: ReplicaContext) -> None:
        """Make the environment in which replicas run Python, if there is room for it."""
        context.folder.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(self.space.take)
        await asyncio.to_thread(context.pythons.of, "")

    def base(self, image: str) -> Base:
        """Return what jobs of an image stand on, with a note about it; "": of no image."""
        return self._base_of(image, self._own) if image else self._own

    def submit(
        self,
        dialect: str,
        job_id: str,
        size: int,
        *,
        gpus: int = 0,
        rented: RentedResource | None = None,
    ) -> Job:
        """Queue a job of `size` replicas; it is on the disk at the end. rented: for a bill."""
        check_name(job_id)
        if job_id in self._jobs:
            raise EngineError(f"there is a job {job_id} already: choose another name")
        if dialect not in self._dialects or size < 1:
            raise EngineError(f"no job of {size} replicas can be sent to {dialect!r}")
        self.failures.submit(JOB, dialect, job_id)
        self._turn = turn = self._turn + 1
        job = Job(job_id, dialect, size, State.QUEUED, time.time(), turn, gpus, rented=rented)
        self._jobs.put(job, then=self._next_soon)
        return job

    def stop(self, job_id: str) -> Job:
        """Stop a job: a queued one at once, a running one by SIGTERM and after a grace SIGKILL.

        While results are brought away, that stops; a job whose end is settled stays as it is.
        """
        job = self.get(job_id)
        if job.state is State.QUEUED:
            self._jobs.put(with_outcome(job, STOPPED), then=self._next_soon)
        elif job_id in self._runners and self._runners[job_id].stop(STOPPED):
            self._jobs.update(replace(self._jobs.latest(job_id), state=State.STOPPING))
        return self.get(job_id)

    def interrupt(self, job_id: str, note: str) -> bool:
        """End the replicas of a job and run it again, if its plan allows; False if it cannot be.

        It can be if it runs, is one that may be interrupted, and nothing has ended it yet. note:
        a line for the logs.
        """
        self.get(job_id)
        return job_id in self._runners and self._runners[job_id].interrupt(note)

    def rehearse(self, epochs: Sequence[object]) -> bool:
        """Interrupt a job at these epochs of its log; none: take it back. Whether it replaces one.

        It is the first job whose log gets there, of those that may be interrupted. This is kept
        until a job is interrupted; what that job does not use of it is given up when it ends.
        """
        before = self._rehearsals.wanted
        self._rehearsals.keep(spot_stop.Rehearsal(spot_stop.parse_epochs(epochs)))
        return before is not None

    def get(self, job_id: str) -> Job:
        """Return the job as it stands; NoSuchJob if there is none."""
        return self._jobs.get(job_id)

    def jobs(self) -> Iterator[Job]:
        """Return all jobs in the order in which they came."""
        return iter(self._jobs)

    async def wait_for_change(self, job: Job, timeout: float) -> Job:
        """Return the job as soon as its state is not that of `job`, or after timeout seconds."""
        return await self._jobs.wait_for_change(job, timeout)

    def log(self, job_id: str, replica: str) -> Path:
        """Return the file with what a replica wrote; it appears when the replica starts."""
        return log_path(self._folder / self.get(job_id).id, check_name(replica))

    def logs(self, job_id: str) -> dict[str, Path]:
        """Return the logs that are there so far, by the name of the replica, in that order."""
        logs = (self._folder / self.get(job_id).id).glob("*.log")
        return {path.name.removesuffix(".log"): path for path in sorted(logs)}

    def delete(self, job_id: str) -> None:
        """Forget an ended job, with its folder and its logs."""
        if not self.get(job_id).state.ended:
            raise EngineError(f"job {job_id} has not ended: stop it first")
        self.failures.forget(job_id)
        self._jobs.remove(job_id, then=lambda: self._remover.remove(self._folder / job_id))

    def _finish(self, job: Job, outcome: Outcome) -> None:
        self._jobs.update(with_outcome(job, outcome))

    def _next_soon(self) -> None:
        """Look once whose turn it is, after the caller and all who asked for the same by then."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Start the jobs whose turn it is."""
        self._is_due = False
        if not self._open:
            return
        waiting = [
            self._scheduler.demand_of(job.id, job.size, job.gpus)
            for job in self._jobs
            if job.state is State.QUEUED
        ]
        starting = self._scheduler.next_to_start(waiting)
        for turn in starting:
            job = self._jobs.get(turn.id)
            try:
                attempt = Attempt(clock.now_after(job.created))
                began = replace(job, state=State.STAGING, attempts=(attempt,))
                self._jobs.put(began)
            except NOT_WRITTEN as problem:
                logging.getLogger(__name__).error("job %s waits: %s", job.id, problem)
                asyncio.get_running_loop().call_later(job_table.RETRY, self._next)
                return
            self._begin(job, self._scheduler.take(turn))
        if len(starting) < len(waiting) and (not self._looking or self._looking.done()):
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        """See, while jobs wait, whether those that run still hold back the others."""
        while self._open and any(job.state is State.QUEUED for job in self._jobs):
            marks = {job: self._marks(job) for job in self._scheduler.running_jobs}
            work = await asyncio.to_thread(_work, marks)
            self._scheduler.look(time.monotonic(), work)
            self._next()
            await asyncio.sleep(scheduler.PERIOD)

    def _marks(self, job_id: str) -> dict[str, str]:
        """Return the environment entries by which the processes of a job are found."""
        return {**self._engine_mark, **self._run_mark, "LOCAL_CLOUD_JOB": job_id}

    def replica_context(
        self, name: str, folder: Path, size: int, *, gpus: tuple[int, ...] = ()
    ) -> ReplicaContext:
        """Return what each of `size` replicas gets; `name` is what their processes are found by."""
        threads = max(1, self._cores // size)
        pythons = Environments(
            folder,
            self.base,
            self._hook,
            wheels=self._folder / ".wheels",
            isolation=self.isolation,
        )
        return ReplicaContext(
            folder, pythons, threads, gpus, self._marks(name), self._fork_server,
            self.isolation, hidden=self.hidden,
        )  # fmt: skip

    def _begin(self, job: Job, gpus: tuple[int, ...]) -> None:
        """Run a job whose turn it is."""
        context = self.replica_context(job.id, self._folder / job.id, job.size, gpus=gpus)
        runner = JobRunner(job, context, shared=self._shared)
        self._runners[job.id] = runner
        task = asyncio.get_running_loop().create_task(runner.run())
        self._tasks[job.id] = task
        task.add_done_callback(functools.partial(self._release, job.id))

    def _release(self, job_id: str, task: asyncio.Task[None]) -> None:
        """Free the cores of a job that has left the machine."""
        self._tasks.pop(job_id)
        self._runners.pop(job_id)
        self._scheduler.release(job_id)
        if task.cancelled():  # the loop is being torn down; the next start puts things in order
            return
        if problem := task.exception():
            # A fault in this program; the job must not seem to run for ever.
            logging.getLogger(__name__).error("job %s", job_id, exc_info=problem)
            message = f"The local cloud made a mistake ({problem!r}); its log has more."
            self._finish(self._jobs.latest(job_id), Outcome(State.FAILED, "lost", message))
        self._next()


def _work(marks: Mapping[str, Mapping[str, str]]) -> dict[str, float]:
    """Return the CPU seconds of jobs, by the marks of their processes."""
    return {
        job: reaper.cpu_seconds(reaper.find_living((), reaper.entries(m)))
        for job, m in marks.items()
    }
