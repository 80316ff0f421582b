"""All studies: trials that run as jobs, some side by side, until there have been enough.

A trial is on record together with its job, or not at all, so a study that the end of a server has
cut off goes on with the next one. Every trial has a record of its own: what has been written of one
is not written again for each that follows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from local_cloud.engine.search import Value
from local_cloud.engine.spec import EngineError, State
from local_cloud.engine.study import Cloud, Study, StudySpec, TrialJob
from local_cloud.engine.study_runner import StudyRunner
from local_cloud.store.records import Records

if TYPE_CHECKING:
    from local_cloud.engine.engine import Engine

KIND, TRIAL = "study", "study-trial"


class Studies:
    """All studies of this machine, each run to its end; their records outlive it."""

    def __init__(self, records: Records, engine: Engine, clouds: Mapping[str, Cloud]) -> None:
        """clouds: those that can have studies, by the names that begin() is given."""
        self._records, self.engine, self.clouds = records, engine, clouds
        self._studies: dict[str, Study] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: dict[str, asyncio.Event] = {}

    def start(self) -> None:
        """Go on with what an earlier server has left; the engine has started."""
        for name, document in self._records.list(KIND):
            trials = [trial for _, trial in self._records.list(TRIAL, prefix=f"{name}/")]
            self._studies[name] = Study.of(document, trials)
            if not self._studies[name].state.ended:
                self._run(name)

    async def close(self) -> None:
        """Run them no further; what is under way goes on with the next start."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def begin(self, cloud: str, study_id: str, spec: StudySpec) -> Study:
        """Begin a study; it is on the disk when this returns."""
        if study_id in self._studies:
            raise EngineError(f"there is a study {study_id} already: choose another name")
        study = Study(study_id, cloud, spec, State.RUNNING, time.time())
        self._show(study, then=lambda: self._run(study_id))
        return study

    def stop(self, study_id: str) -> Study:
        """Send no more trials, and stop those that run; one that has ended stays as it is."""
        if self.get(study_id).state is State.RUNNING:
            self.end_trials(study_id)
        return self.get(study_id)

    def get(self, study_id: str) -> Study:
        """The study as it stands; EngineError if there is none."""
        try:
            return self._studies[study_id]
        except KeyError:
            raise EngineError(f"there is no study {study_id}") from None

    def all(self) -> Iterator[Study]:
        """All studies, by name."""
        yield from list(self._studies.values())

    async def changed(self, study: Study, timeout: float) -> Study:
        """The study as soon as it differs from this, or after timeout seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self.get(study.id) == study:
                    await self._changed.setdefault(study.id, asyncio.Event()).wait()
        return self.get(study.id)

    def delete(self, study_id: str) -> None:
        """Forget a study that has ended; its jobs stay."""
        study = self.get(study_id)
        if not study.state.ended:
            raise EngineError(f"study {study_id} has not ended: stop it first")
        with self._records.transaction():
            for place in range(len(study.trials)):
                self._records.delete(TRIAL, _name(study_id, place))
            self._records.delete(KIND, study_id)
            self._records.when_written(lambda: self._forget(study_id))

    def _forget(self, study_id: str) -> None:
        del self._studies[study_id]
        self._wake(study_id)

    # ---- what the runners of the studies do -----------------------------------------------------
    def end_trials(self, study_id: str) -> None:
        """Stop the jobs of the trials that run; what comes of them is still to be judged."""
        study = self.get(study_id)
        self._show(replace(study, state=State.STOPPING))
        for trial in study.trials:
            if not trial.ended:
                self.engine.stop(trial.job)

    def send(self, study_id: str, values: Mapping[str, Value]) -> None:
        """Send the next trial, with these values."""
        study = self.get(study_id)
        with self._records.transaction():
            job = self.clouds[study.cloud].send(study, len(study.trials) + 1, values)
            self._show_trial(study, len(study.trials), TrialJob(job, values))

    def note(self, study_id: str, place: int, **facts: Any) -> None:
        """Keep what has come to be known of a trial."""
        study = self.get(study_id)
        self._show_trial(study, place, replace(study.trials[place], **facts))

    def stop_early(self, study_id: str, place: int) -> None:
        """Stop a trial whose further reports are not waited for."""
        self.note(study_id, place, early=True)
        self.engine.stop(self.get(study_id).trials[place].job)

    def end(self, study_id: str) -> None:
        """Nothing runs any more, and nothing is to be sent."""
        study = self.get(study_id)
        self._show(replace(study, state=_ending(study), ended=time.time()))

    def _show(self, study: Study, then: Callable[[], None] = lambda: None) -> None:
        """Record the study as it now stands; it is seen, and then called, once that is done."""

        def see() -> None:
            self._studies[study.id] = study
            self._wake(study.id)
            then()

        self._records.put(KIND, study.id, study.document())
        self._records.when_written(see)

    def _show_trial(self, study: Study, place: int, trial: TrialJob) -> None:
        """The same for one of its trials, new or known."""

        def see() -> None:
            trials = (*study.trials[:place], trial, *study.trials[place + 1 :])
            self._studies[study.id] = replace(study, trials=trials)
            self._wake(study.id)

        self._records.put(TRIAL, _name(study.id, place), asdict(trial))
        self._records.when_written(see)

    def _wake(self, study_id: str) -> None:
        if event := self._changed.pop(study_id, None):
            event.set()

    def _run(self, study_id: str) -> None:
        runner = StudyRunner(self, study_id)
        task = asyncio.get_running_loop().create_task(runner.live())
        self._tasks[study_id] = task
        task.add_done_callback(lambda ended: self._left(study_id, ended))

    def _left(self, study_id: str, task: asyncio.Task[None]) -> None:
        """A study is run no further: it has ended, or the server does."""
        self._tasks.pop(study_id)
        if not task.cancelled() and (problem := task.exception()):
            # A fault in this program; neither study nor trials must seem to run for ever.
            logging.getLogger(__name__).error("study %s", study_id, exc_info=problem)
            for place, trial in enumerate(self.get(study_id).trials):
                if not trial.ended:
                    self.engine.stop(trial.job)
                    self.note(study_id, place, reason=f"A fault of the local cloud: {problem!r}")
            self._show(replace(self.get(study_id), state=State.FAILED, ended=time.time()))


def _name(study_id: str, place: int) -> str:
    """The name of a trial's record: in order, also beyond the ninth."""
    return f"{study_id}/{place:06}"


def _ending(study: Study) -> State:
    """How a study has ended of which nothing runs any more."""
    if study.hopeless:
        return State.FAILED
    return State.STOPPED if study.state is State.STOPPING else State.SUCCEEDED
