"""One attempt of a job, from its staging to its end: start the replicas, watch, end them."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from local_cloud.disk_errors import say
from local_cloud.engine import system
from local_cloud.engine.isolation import job_network
from local_cloud.engine.isolation.job_network import JobNetwork
from local_cloud.engine.jobs.remover import remove_soon
from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.engine.processes import control_groups, reaper
from local_cloud.engine.processes.replica import (
    NotStarted,
    ReplicaContext,
    Started,
    last_lines,
    log_path,
    start,
)
from local_cloud.engine.rehearsals.spot_stop import Reader
from local_cloud.engine.spec import EngineError, Job, JobRefused, Kill, Outcome, Plan, State
from local_cloud.store import trees
from local_cloud.store.errors import StoreError
from local_cloud.store.interruption import interruptible
from local_cloud.store.records import NOT_WRITTEN

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")  # of a job or a replica: it names a file
# Seconds between SIGTERM and SIGKILL, at most, when the server ends: nobody collects the results.
LOST_GRACE = 10.0
# Seconds before a job runs again: enough to be seen. A cloud takes minutes to find machines.
PAUSE = 3.0
AGAIN = "local cloud: the job is started again: attempt "  # and its number, in every log
NOT_FOUND = 127  # what a shell gives for a command that is not there


def check_name(name: str) -> str:
    """Return the name; EngineError if no file can safely bear it."""
    if not NAME.fullmatch(name):
        raise EngineError(
            f"{name!r} cannot name a job or a replica: use up to 128 letters, digits and . _ -"
        )
    return name


def clear(folder: Path) -> None:
    """Remove what an attempt has left in the job's folder; the logs, which are files, stay.

    Links in the place of folders go too: the next attempt would write into what they lead to.
    """
    if folder.is_symlink():
        folder.unlink()
        folder.mkdir()
    for entry in folder.iterdir():
        if entry.is_dir():
            trees.remove(entry)


class AttemptRunner:
    """One attempt of a job that has left the queue."""

    def __init__(
        self,
        job: Job,
        context: ReplicaContext,
        guard: reaper.Reaper,
        *,
        network: JobNetwork | None = None,
    ) -> None:
        """job: with its earlier attempts; context: what the replicas get.

        guard: what ends the replicas if this process is killed. network: that the replicas share;
        None: this machine's.
        """
        self._job = job
        self._context = context
        self._guard = guard
        self._network = network
        self._plan: Plan | None = None
        self._started: list[Started] = []
        self._living: set[int] = set()  # by their index in the plan
        self._codes: dict[int, int] = {}
        self._all_ended = asyncio.Event()
        self._made = time.time()
        self._begun: dict[str, int] = {}  # how long each replica's log was before
        self._timers: list[asyncio.TimerHandle] = []
        self._decided = asyncio.Event()
        self._stop_staging = threading.Event()  # between two pieces of its inputs
        self._outcome: Outcome | None = None
        self.again = False  # whether the outcome is this attempt's only, and another one follows

    def decide(self, outcome: Outcome) -> bool:
        """End the job like this, unless its end has been decided already.

        Return whether it does.
        """
        if self._outcome and not self.again:
            return False
        self._outcome, self.again = outcome, False
        self._decided.set()
        self._stop_staging.set()
        return True

    def interrupt(self, note: str) -> bool:
        """End the replicas, to run the job again if its plan allows; whether it comes to that.

        note: a line for every replica's log.
        """
        if not self.reader():
            return False
        for log in self._logs():
            job_files.append_line(log, note)
        count = self._job.interruptions + 1
        message = f"The job was interrupted {count} times, which is once too often."
        self._settle(Outcome(State.FAILED, "interrupted", message))
        return True

    def reader(self) -> Reader | None:
        """Return the reader of the first replica's log, as far as this attempt writes it.

        None: the attempt does not run, its end is decided, or the job is never interrupted.
        """
        if not self._plan or not self._started or self._outcome:
            return None
        if self._plan.interruptions is None:
            return None
        name = self._plan.replicas[self._plan.primary or 0].name
        log = log_path(self._context.folder, name)
        return Reader(functools.partial(job_files.open_log, log), self._begun[name])

    def _settle(self, outcome: Outcome) -> None:
        """End the attempt like this, unless something else has decided already."""
        if not self._outcome:
            self._outcome, self.again = outcome, self._goes_on(outcome)
            self._decided.set()

    def _goes_on(self, outcome: Outcome) -> bool:
        assert self._plan
        interruptions = self._job.interruptions
        if outcome.reason == "interrupted":
            return interruptions < (self._plan.interruptions or 0)
        retries = len(self._job.attempts) - interruptions
        return outcome.code in self._plan.retried and retries < self._plan.retries

    async def live(
        self, stage: Callable[[], Awaitable[Plan]], running: Callable[[], None]
    ) -> Outcome:
        """Run to the end, when no process of the job is left; running is called once it runs."""
        await self._stage(stage)
        stamping = asyncio.create_task(log_timestamps.follow(self._logs(), self._context.hidden))
        try:
            if self._plan and not self._outcome:
                self._start(self._plan)
                running()
                self._limit(self._plan, self._decide_later)  # from here on the job is said to run
            await self._decided.wait()
        finally:  # also after a fault in this program
            if self._plan and self._started:
                await self._end(self._grace(self._plan))
            for timer in self._timers:
                timer.cancel()
            stamping.cancel()
            if self._network:
                self._network.close()
                self._explain()
            await log_timestamps.finish(self._logs(), self._context.hidden)
        assert self._outcome  # decided later, perhaps, than what has ended the replicas
        return replace(self._outcome, last_lines=self._lines(self._outcome.replica))

    @property
    def ran(self) -> bool:
        """Return whether any replica was started."""
        return bool(self._started)

    async def _stage(self, stage: Callable[[], Awaitable[Plan]]) -> None:
        try:
            if self._job.attempts and await self._pause():
                return
            with interruptible(self._stop_staging):
                plan = await self._stage_and_open_network(stage)
            for one in plan.replicas:
                check_name(one.name)
            names = {one.name for one in plan.replicas}
            if not len(names) == len(plan.replicas) == self._job.size:
                raise EngineError(
                    f"the job was to have {self._job.size} replicas and its plan names"
                    f" {', '.join(sorted(names))}: report this as a fault of the local cloud"
                )
            self._plan = plan
            if plan.delay and await self._wait_for_decision(plan.delay):
                return
            self._limit(plan, self._decide_now)
        except (EngineError, StoreError, *NOT_WRITTEN) as problem:
            reason = problem.reason if isinstance(problem, JobRefused) else "staging"
            self.decide(Outcome(State.FAILED, reason, say(problem)))

    async def _stage_and_open_network(self, stage: Callable[[], Awaitable[Plan]]) -> Plan:
        """Stage, and make the replicas' network meanwhile; wait for both, also if one fails."""
        if not self._network:
            return await stage()
        plan, made = await asyncio.gather(stage(), self._network.open(), return_exceptions=True)
        for each in (plan, made):
            if isinstance(each, BaseException):
                raise each
        assert isinstance(plan, Plan)
        return plan

    async def _pause(self) -> bool:
        """Clear up after the attempt before, and wait a while; whether the job ends meanwhile."""
        await asyncio.to_thread(clear, self._context.folder)
        await asyncio.to_thread(self._context.pythons.remove)
        return await self._wait_for_decision(PAUSE)

    async def _wait_for_decision(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._decided.wait(), seconds)
        return self._decided.is_set()

    def _start(self, plan: Plan) -> None:
        for one in plan.replicas:
            written = job_files.stat_log(log_path(self._context.folder, one.name))
            self._begun[one.name] = written.st_size if written else 0
        number = len(self._job.attempts) + 1
        notes = plan.notes if number == 1 else (f"{AGAIN}{number}",)
        for index, one in enumerate(plan.replicas):
            try:
                started = start(
                    one,
                    notes,
                    self._context,
                    network=self._network,
                    is_batch=len(plan.replicas) > 1,
                )
            except NotStarted:
                self._handle_exit(index, NOT_FOUND)
                return
            except OSError as problem:  # no room for its folders or its log
                self._settle(Outcome(State.FAILED, "staging", say(problem)))
                return
            self._guard.add(started.process.pid, min(plan.grace, LOST_GRACE))
            self._started.append(started)
            self._living.add(index)
            system.when_ended(started.process, functools.partial(self._handle_exit, index))
        if plan.kill:
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(plan.kill.after, self._kill, plan.kill.replica))

    def _kill(self, index: int) -> None:
        """End a replica as the kernel would."""
        if index in self._living:
            with suppress(ProcessLookupError):
                os.killpg(self._started[index].process.pid, signal.SIGKILL)

    def _limit(self, plan: Plan, end: Callable[[float, Outcome], object]) -> None:
        """Have the job ended when its time is up: that of running, or that of all together.

        end: is given the seconds that are left of each, and the outcome.
        """
        now, earlier = time.time(), self._job.attempts
        ran = sum((each.ended or now) - (each.started or now) for each in earlier)
        passed = max(0.0, now - (earlier[0].staged if earlier else self._made))
        for reason, did, seconds, used in (
            ("timeout", "ran for", plan.timeout, ran),
            ("deadline", "took", plan.deadline, passed),
        ):
            if seconds is not None:
                message = f"The job {did} {seconds:g} s, which is its limit, and was stopped."
                end(seconds - used, Outcome(State.FAILED, reason, message))

    def _decide_now(self, left: float, outcome: Outcome) -> None:
        if left <= 0:
            self.decide(outcome)

    def _decide_later(self, left: float, outcome: Outcome) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(left, self.decide, outcome))

    def _handle_exit(self, index: int, code: int) -> None:
        """Decide at the first failure; at success of the primary, or of all."""
        assert self._plan
        self._codes[index] = code
        self._living.discard(index)
        if not self._living:
            self._all_ended.set()
        name = self._plan.replicas[index].name
        if self._plan.kill:
            self._settle(self._outcome_of_kill(self._plan, self._plan.kill))
        elif code:
            self._settle(
                Outcome(State.FAILED, "exit", self._failure_message(name, code), name, code)
            )
        elif index == self._plan.primary or len(self._codes) == len(self._plan.replicas):
            message = "Every replica exited with 0."
            if self._plan.primary is not None:
                message = f"The primary replica {name} exited with 0."
            self._settle(Outcome(State.SUCCEEDED, "succeeded", message))

    def _outcome_of_kill(self, plan: Plan, kill: Kill) -> Outcome:
        """Return the end of the replica that is killed, even if it was too fast."""
        name, code = plan.replicas[kill.replica].name, -signal.SIGKILL
        return Outcome(State.FAILED, kill.reason, self._failure_message(name, code), name, code)

    def _failure_message(self, name: str, code: int) -> str:
        ended = f"exited with code {code}"
        if code < 0:
            ended = f"was ended by {_signal_name(-code)}"
            if -code == signal.SIGKILL:
                ended += " (the usual cause is memory running out)"
        return f"Replica {name} {ended}; its log is {log_path(self._context.folder, name)}."

    def _grace(self, plan: Plan) -> float:
        lost = self._outcome is not None and self._outcome.reason == "lost"
        return min(plan.grace, LOST_GRACE) if lost else plan.grace

    def _logs(self) -> list[Path]:
        names = [one.name for one in self._plan.replicas] if self._plan else []
        return [log_path(self._context.folder, name) for name in names]

    def _explain(self) -> None:
        """Say in the log of a replica that reached no host why it may not have."""
        name = self._outcome.replica if self._outcome else None
        if name and job_network.UNREACHED.search("\n".join(self._lines(name))):
            job_files.append_line(log_path(self._context.folder, name), job_network.WHY)

    def _lines(self, name: str | None) -> tuple[str, ...]:
        log, hidden = log_path(self._context.folder, name or ""), self._context.hidden
        return last_lines(log, hidden=hidden) if name else ()

    async def _end(self, grace: float) -> None:
        groups = [one.process.pid for one in self._started]
        marks = reaper.entries(self._context.marks)
        if not await asyncio.to_thread(reaper.end, groups, marks, grace):
            logging.getLogger(__name__).error(
                "job %s: a process outlived SIGKILL; it hangs in the kernel", self._job.id
            )
            return
        await self._all_ended.wait()
        control_groups.remove(self._context.marks)
        for one in self._started:
            self._guard.remove(one.process.pid)
            await remove_soon(self._context.folder.parent, one.temporary)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
