"""All studies: trials that run as jobs, some side by side, until there have been enough.

A trial is on record together with its job, or not at all, so a study that the end of a server has
cut off is resumed by the next one.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

from local_cloud.client.failures import STUDY
from local_cloud.engine.dialect import TuningDialect
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import EngineError, State
from local_cloud.engine.studies import study_runner
from local_cloud.engine.studies.spec import Study, StudySpec
from local_cloud.engine.studies.study_table import StudyTable
from local_cloud.store import clock
from local_cloud.store.records import Records


class Studies:
    """All studies of this machine, each run to its end; their records outlive it."""

    def __init__(self, records: Records, engine: JobQueue) -> None:
        """engine: what runs the trials' jobs."""
        self._engine = engine
        self._table = StudyTable(records)
        self._dialects: Mapping[str, TuningDialect] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, dialects: Mapping[str, TuningDialect]) -> None:
        """Resume what an earlier server has left; the engine has started.

        dialects: the clouds that can have studies, by the names that begin() is given.
        """
        self._dialects = dialects
        for study in self._table.load():
            if not study.state.ended:
                self._run(study.id)

    async def close(self) -> None:
        """Run them no further; the next start resumes what is under way."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def submit(self, cloud: str, study_id: str, spec: StudySpec) -> Study:
        """Begin a study; it is on the disk when this returns."""
        if study_id in self._table:
            raise EngineError(f"there is a study {study_id} already: choose another name")
        self._engine.failures.submit(STUDY, cloud, study_id)
        study = Study(study_id, cloud, spec, State.RUNNING, time.time())
        self._table.put(study, then=lambda: self._run(study_id))
        return study

    def stop(self, study_id: str) -> Study:
        """Send no more trials, and stop those that run; one that has ended stays as it is."""
        if self.get(study_id).state is State.RUNNING:
            study_runner.stop(self._table, self._engine, study_id)
        return self.get(study_id)

    def get(self, study_id: str) -> Study:
        """Return the study as it stands; EngineError if there is none."""
        return self._table.get(study_id)

    def all(self) -> Iterator[Study]:
        """Return all studies, by name."""
        return iter(self._table)

    async def wait_for_change(self, study: Study, timeout: float) -> Study:
        """Return the study as soon as it differs from this, or after timeout seconds."""
        return await self._table.wait_for_change(study, timeout)

    def delete(self, study_id: str) -> None:
        """Forget a study that has ended; its jobs stay."""
        study = self.get(study_id)
        if not study.state.ended:
            raise EngineError(f"study {study_id} has not ended: stop it first")
        self._engine.failures.forget(study_id)
        self._table.remove(study)

    def _run(self, study_id: str) -> None:
        dialect = self._dialects[self.get(study_id).cloud]
        runner = study_runner.StudyRunner(
            self._table, self._engine, dialect=dialect, study_id=study_id
        )
        task = asyncio.get_running_loop().create_task(runner.live())
        self._tasks[study_id] = task
        task.add_done_callback(functools.partial(self._release, study_id))

    def _release(self, study_id: str, task: asyncio.Task[None]) -> None:
        """Forget a study that is run no further: it has ended, or the server does."""
        self._tasks.pop(study_id)
        if not task.cancelled() and (problem := task.exception()):
            # A fault in this program; neither study nor trials must seem to run for ever.
            logging.getLogger(__name__).error("study %s", study_id, exc_info=problem)
            reason = f"A fault of the local cloud: {problem!r}"
            for place, trial in enumerate(self.get(study_id).trials):
                if not trial.ended:
                    self._engine.stop(trial.job)
                    self._table.note(study_id, place, reason=reason)
            study = self.get(study_id)
            ended = clock.now_after(study.created)
            self._table.put(replace(study, state=State.FAILED, ended=ended))
