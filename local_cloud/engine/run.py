"""One job from its turn to its end: stage, start the replicas, watch, end them."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import re
import shutil
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from local_cloud.engine import keeper, stamps
from local_cloud.engine.replica import (
    NotStarted,
    Room,
    Started,
    last_lines,
    log_path,
    start,
    when_ended,
)
from local_cloud.engine.spec import EngineError, Job, Outcome, Plan, State

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")  # of a job or a replica: it names a file
# Seconds between SIGTERM and SIGKILL, at most, when the server ends: nobody collects the results.
LOST_GRACE = 10.0
NOT_FOUND = 127  # what a shell gives for a command that is not there


def check_name(name: str) -> str:
    """The name; EngineError if no file can safely bear it."""
    if not NAME.fullmatch(name):
        raise EngineError(
            f"{name!r} cannot name a job or a replica: use up to 128 letters, digits and . _ -"
        )
    return name


class Run:
    """A job that has left the queue."""

    def __init__(self, job: Job, room: Room, guard: keeper.Keeper) -> None:
        """room: what the replicas get; guard: what ends them if this process is killed."""
        self._job = job
        self._room = room
        self._guard = guard
        self._plan: Plan | None = None
        self._started: list[Started] = []
        self._living: set[int] = set()  # by their index in the plan
        self._codes: dict[int, int] = {}
        self._all_ended = asyncio.Event()
        self._verdict: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def decide(self, outcome: Outcome) -> bool:
        """The job ends like this, unless something else has decided already; whether it does."""
        if self._verdict.done():
            return False
        self._verdict.set_result(outcome)
        return True

    async def live(self, stage: Awaitable[Plan], running: Callable[[], None]) -> Outcome:
        """Run to the end, when no process of the job is left; running is called once it runs."""
        await self._stage(stage)
        stamping = asyncio.create_task(stamps.follow(self._logs()))
        try:
            if self._plan and not self._verdict.done():
                self._start(self._plan)
                running()
            outcome = await self._verdict
        finally:  # also when the state cannot be recorded, on a full disk say
            if self._plan and self._started:
                await self._end(self._grace(self._plan))
            stamping.cancel()
            for log in self._logs():
                stamps.mark(log)
        return replace(outcome, last_lines=self._lines(outcome.replica))

    @property
    def ran(self) -> bool:
        """Whether any replica was started."""
        return bool(self._started)

    async def _stage(self, stage: Awaitable[Plan]) -> None:
        try:
            plan = await stage
            for one in plan.replicas:
                check_name(one.name)
            names = {one.name for one in plan.replicas}
            if not len(names) == len(plan.replicas) == self._job.size:
                raise EngineError(
                    f"the job was to have {self._job.size} replicas and its plan names"
                    f" {', '.join(sorted(names))}: report this as a fault of the local cloud"
                )
            self._plan = plan
        except (EngineError, OSError) as problem:
            self.decide(Outcome(State.FAILED, "staging", str(problem)))

    def _start(self, plan: Plan) -> None:
        for index, one in enumerate(plan.replicas):
            try:
                started = start(one, plan, self._room)
            except NotStarted:
                self._exited(index, NOT_FOUND)
                return
            self._guard.add(started.process.pid, min(plan.grace, LOST_GRACE))
            self._started.append(started)
            self._living.add(index)
            when_ended(started.process, functools.partial(self._exited, index))
        if plan.timeout is not None:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(plan.timeout, self._too_long, plan.timeout)
            self._verdict.add_done_callback(lambda _: timer.cancel())

    def _too_long(self, seconds: float) -> None:
        message = f"The job ran for {seconds:g} s, which is its limit, and was stopped."
        self.decide(Outcome(State.FAILED, "timeout", message))

    def _exited(self, index: int, code: int) -> None:
        """The first failure decides; so does success of the primary, or of all."""
        assert self._plan
        self._codes[index] = code
        self._living.discard(index)
        if not self._living:
            self._all_ended.set()
        name = self._plan.replicas[index].name
        if code:
            self.decide(Outcome(State.FAILED, "exit", self._failure(name, code), name, code))
        elif index == self._plan.primary or len(self._codes) == len(self._plan.replicas):
            message = "Every replica exited with 0."
            if self._plan.primary is not None:
                message = f"The primary replica {name} exited with 0."
            self.decide(Outcome(State.SUCCEEDED, "succeeded", message))

    def _failure(self, name: str, code: int) -> str:
        ended = f"exited with code {code}"
        if code < 0:
            ended = f"was ended by {_signal_name(-code)}"
            if -code == signal.SIGKILL:
                ended += " (the usual cause is memory running out)"
        return f"Replica {name} {ended}; its log is {log_path(self._room.folder, name)}."

    def _grace(self, plan: Plan) -> float:
        verdict = self._verdict
        lost = verdict.done() and not verdict.cancelled() and verdict.result().reason == "lost"
        return min(plan.grace, LOST_GRACE) if lost else plan.grace

    def _logs(self) -> list[Path]:
        names = [one.name for one in self._plan.replicas] if self._plan else []
        return [log_path(self._room.folder, name) for name in names]

    def _lines(self, name: str | None) -> tuple[str, ...]:
        return last_lines(log_path(self._room.folder, name)) if name else ()

    async def _end(self, grace: float) -> None:
        groups = [one.process.pid for one in self._started]
        marks = [os.fsencode(f"{name}={text}") for name, text in self._room.marks.items()]
        if not await asyncio.to_thread(keeper.end, groups, marks, grace):
            logging.getLogger(__name__).error(
                "job %s: a process outlived SIGKILL; it hangs in the kernel", self._job.id
            )
            return
        await self._all_ended.wait()
        for one in self._started:
            self._guard.remove(one.process.pid)
            shutil.rmtree(one.temporary, ignore_errors=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
