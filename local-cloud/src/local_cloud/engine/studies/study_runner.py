"""Run a study: trials are judged and sent until there have been enough.

What is tried next is chosen in `search`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from local_cloud.engine.dialect import TuningDialect
from local_cloud.engine.jobs import job_table
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import State
from local_cloud.engine.studies import early_stopping
from local_cloud.engine.studies.search import Value, next_values
from local_cloud.engine.studies.spec import Study, TrialJob
from local_cloud.engine.studies.study_table import StudyTable
from local_cloud.store import clock

PERIOD = 0.5  # seconds between two looks at what the trials report


def stop(table: StudyTable, engine: JobQueue, study_id: str) -> None:
    """Stop the jobs of the trials that run; what comes of them is still to be judged."""
    study = table.get(study_id)
    table.put(replace(study, state=State.STOPPING))
    for trial in study.trials:
        if not trial.ended:
            engine.stop(trial.job)


class StudyRunner:
    """Run one study to its end."""

    def __init__(
        self, table: StudyTable, engine: JobQueue, *, dialect: TuningDialect, study_id: str
    ) -> None:
        """table: where the study is on record; dialect: its cloud's."""
        self._table, self._engine, self._dialect = table, engine, dialect
        self._id = study_id
        self._watching: dict[str, asyncio.Task[None]] = {}  # the trials' jobs that run
        self._curves: dict[int, early_stopping.Curve] = {}  # their reports, by their places

    @property
    def _study(self) -> Study:
        """Return the study as it stands."""
        return self._table.get(self._id)

    async def live(self) -> None:
        """Judge and send, until nothing runs any more and nothing is to be sent."""
        try:
            while not self._study.state.ended:
                try:
                    await self._go_on()
                except sqlite3.OperationalError as problem:  # the rest is done next time
                    logging.getLogger(__name__).error("study %s waits: %s", self._id, problem)
                    await asyncio.sleep(job_table.RETRY)
        finally:
            for task in self._watching.values():
                task.cancel()

    async def _go_on(self) -> None:
        """Do what there is to do, and wait for news or end the study."""
        if self._study.state is State.STOPPING:  # also those whose jobs an earlier server had
            stop(self._table, self._engine, self._id)
        await self._judge()
        if self._study.state is State.RUNNING and self._is_over():
            stop(self._table, self._engine, self._id)
        await self._stop_early()
        while self._has_room() and await self._send():
            pass
        if all(trial.ended for trial in self._study.trials):
            study = self._study
            self._table.put(
                replace(study, state=_final_state(study), ended=clock.now_after(study.created))
            )
        else:
            await self._news()

    def _is_over(self) -> bool:
        """Return whether the study ends before it has had all its trials."""
        return self._study.hopeless or self._count_left() == 0

    def _count_left(self) -> float | None:
        """Return for how many seconds the study may still go on; None: for ever."""
        seconds = self._study.spec.seconds
        return None if seconds is None else max(0.0, self._study.created + seconds - time.time())

    def _has_room(self) -> bool:
        study = self._study
        running = sum(not trial.ended for trial in study.trials)
        fits = running < study.spec.parallel_trials and len(study.trials) < study.spec.max_trials
        return study.state is State.RUNNING and fits

    async def _send(self) -> bool:
        """Send one more trial; False: there is nothing else to try."""
        spec, trials = self._study.spec, [trial.for_search() for trial in self._study.trials]
        values = await asyncio.to_thread(
            next_values,
            spec.parameters,
            trials,
            algorithm=spec.algorithm,
            maximize=spec.maximize,
            seed=spec.seed,
            earlier=spec.earlier,
            alike=spec.alike,
        )
        # It may have been stopped meanwhile.
        if values is None or self._study.state is not State.RUNNING:
            return False
        self._queue(values)
        return True

    def _queue(self, values: Mapping[str, Value]) -> None:
        """Record the next trial together with its job."""
        study = self._study
        with self._table.records.transaction():
            job = self._dialect.send(study, len(study.trials) + 1, values)
            self._table.put_trial(study, len(study.trials), TrialJob(job, values))

    async def _judge(self) -> None:
        """Write down what came of the trials whose jobs have ended."""
        for place, trial in enumerate(self._study.trials):
            if trial.ended or not (job := self._engine.get(trial.job)).state.ended:
                continue
            result = await asyncio.to_thread(self._dialect.judge, self._study, place + 1, job)
            facts: dict[str, Any] = {"result": result}
            if isinstance(result, str):
                facts = {"reason": result, "without_metric": job.state is State.SUCCEEDED}
            elif self._study.spec.early_stopping:
                facts["curve"] = await self._reports(place)
            self._curves.pop(place, None)
            self._table.note(self._id, place, **facts)

    async def _reports(self, place: int) -> early_stopping.Curve:
        job = self._engine.get(self._study.trials[place].job)
        points = await asyncio.to_thread(self._dialect.reports, self._study, place + 1, job)
        return tuple(points)

    async def _stop_early(self) -> None:
        """Stop the trials that the study's rule gives up."""
        if not (rule := self._study.spec.early_stopping):
            return
        for place, trial in enumerate(self._study.trials):
            if trial.early or self._engine.get(trial.job).state is not State.RUNNING:
                continue
            curve, before = await self._reports(place), self._curves.get(place, ())
            self._curves[place] = curve
            others = [
                replace(other.other(at), curve=self._curves.get(at, other.curve))
                for at, other in enumerate(self._study.trials)
            ]
            since = before[-1][0] if before else -math.inf
            if early_stopping.is_over(
                rule, others[place], since=since, others=others, maximize=self._study.spec.maximize
            ):
                self._table.note(self._id, place, early=True)
                self._engine.stop(trial.job)

    async def _news(self) -> None:
        """Wait until the job of a trial has ended, or until something else is to be looked at."""
        for trial in self._study.trials:
            if not trial.ended and trial.job not in self._watching:
                self._watching[trial.job] = asyncio.create_task(self._end_of(trial.job))
        times = [self._count_left(), PERIOD if self._study.spec.early_stopping else None]
        soon = min((one for one in times if one is not None), default=None)
        if self._study.state is not State.RUNNING:
            soon = None
        await asyncio.wait(
            self._watching.values(), timeout=soon, return_when=asyncio.FIRST_COMPLETED
        )
        self._watching = {job: task for job, task in self._watching.items() if not task.done()}

    async def _end_of(self, job_id: str) -> None:
        job = self._engine.get(job_id)
        while not job.state.ended:
            job = await self._engine.wait_for_change(job, 3600)


def _final_state(study: Study) -> State:
    """Return how a study has ended of which nothing runs any more."""
    if study.hopeless:
        return State.FAILED
    return State.STOPPED if study.state is State.STOPPING else State.SUCCEEDED
