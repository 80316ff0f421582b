"""Studies: trials that run as jobs, some side by side, until there have been enough.

What is tried next is chosen in `search`. A trial is on record together with its job, or not at all,
so a study that the end of a server has cut off goes on with the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from local_cloud.engine.search import Parameter, Trial, Value, next_values
from local_cloud.engine.spec import EngineError, Job, State
from local_cloud.store.records import Records

if TYPE_CHECKING:
    from local_cloud.engine.engine import Engine

KIND = "study"


@dataclass(frozen=True)
class Aim:
    """What a study looks for, and when it ends."""

    parameters: tuple[Parameter, ...]
    maximize: bool
    trials: int  # at most; a grid may have fewer
    at_once: int = 1
    algorithm: str = "bayesian"
    failures: int | None = None  # so many failed trials end the study; None: none do
    seed: int = 0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Aim:
        """The aim of a document."""
        parameters = (
            Parameter(**one | {name: tuple(one[name]) for name in ("choices", "when")})
            for one in document["parameters"]
        )
        return cls(**{**document, "parameters": tuple(parameters)})


@dataclass(frozen=True)
class TrialJob:
    """One trial of a study, and the job that it is."""

    job: str
    values: Mapping[str, Value]
    result: float | None = None
    reason: str = ""  # why it ended without a result

    @property
    def ended(self) -> bool:
        """Whether it is known what came of it."""
        return self.result is not None or bool(self.reason)

    def trial(self) -> Trial:
        """What a search needs to know of it."""
        return Trial(self.values, self.result, failed=bool(self.reason))


@dataclass(frozen=True)
class Study:
    """A study as it stands; times are seconds since the epoch."""

    id: str
    cloud: str
    aim: Aim
    state: State  # RUNNING, STOPPING, or how it ended
    created: float
    ended: float | None = None
    runs: tuple[TrialJob, ...] = ()  # in the order in which they were sent

    @property
    def failed(self) -> int:
        """How many trials ended without a result."""
        return sum(bool(run.reason) for run in self.runs)

    @property
    def best(self) -> TrialJob | None:
        """The trial with the best result, the first of equals."""
        done = [run for run in self.runs if run.result is not None]
        sign = -1 if self.aim.maximize else 1
        return min(done, key=lambda run: sign * (run.result or 0.0), default=None)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Study:
        """The study of a document."""
        runs = tuple(TrialJob(**run) for run in document["runs"])
        facts = {"aim": Aim.of(document["aim"]), "state": State(document["state"]), "runs": runs}
        return cls(**{**document, **facts})


class Cloud(Protocol):
    """What a study asks of a cloud."""

    def send(self, study: Study, number: int, values: Mapping[str, Value]) -> str:
        """Queue the job of a trial, the first of which has number 1; returns the job's id."""

    def judge(self, study: Study, number: int, job: Job) -> float | str:
        """The result of a trial whose job has ended, or why there is none; called in a thread."""


class Studies:
    """All studies of this machine, each conducted to its end; their records outlive it."""

    def __init__(self, records: Records, engine: Engine, clouds: Mapping[str, Cloud]) -> None:
        """clouds: those that can have studies, by the names that begin() is given."""
        self._records, self._engine, self._clouds = records, engine, clouds
        self._studies: dict[str, Study] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: dict[str, asyncio.Event] = {}

    def start(self) -> None:
        """Go on with what an earlier server has left; the engine has started."""
        for name, document in self._records.list(KIND):
            self._studies[name] = Study.of(document)
            if not self._studies[name].state.ended:
                self._conduct(name)

    async def close(self) -> None:
        """Conduct no further; what is under way goes on with the next start."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    def begin(self, cloud: str, study_id: str, aim: Aim) -> Study:
        """Begin a study; it is on the disk when this returns."""
        if study_id in self._studies:
            raise EngineError(f"there is a study {study_id} already: choose another name")
        study = Study(study_id, cloud, aim, State.RUNNING, time.time())
        self._show(study)
        self._conduct(study_id)
        return study

    def stop(self, study_id: str) -> Study:
        """Send no more trials, and stop those that run; one that has ended stays as it is."""
        study = self.get(study_id)
        if study.state is State.RUNNING:
            self._end_runs(study, State.STOPPING)
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
        if not self.get(study_id).state.ended:
            raise EngineError(f"study {study_id} has not ended: stop it first")
        self._records.delete(KIND, study_id)
        del self._studies[study_id]
        self._wake(study_id)

    def _show(self, study: Study) -> None:
        """Record the study as it now stands, then let it be seen."""
        self._records.put(KIND, study.id, asdict(study))
        self._studies[study.id] = study
        self._wake(study.id)

    def _wake(self, study_id: str) -> None:
        if event := self._changed.pop(study_id, None):
            event.set()

    def _end_runs(self, study: Study, state: State) -> None:
        """Stop the jobs of the trials that run; what comes of them is still to be judged."""
        self._show(replace(study, state=state))
        for run in study.runs:
            if not run.ended:
                self._engine.stop(run.job)

    def _conduct(self, study_id: str) -> None:
        task = asyncio.get_running_loop().create_task(self._live(study_id))
        self._tasks[study_id] = task
        task.add_done_callback(lambda ended: self._left(study_id, ended))

    async def _live(self, study_id: str) -> None:
        """Judge and send, until nothing runs any more and nothing is to be sent."""
        if self._studies[study_id].state is State.STOPPING:  # jobs that wait outlive a server
            self._end_runs(self._studies[study_id], State.STOPPING)
        while True:
            await self._judge(study_id)
            study, limit = self._studies[study_id], self._studies[study_id].aim.failures
            if study.state is State.RUNNING and limit is not None and study.failed >= limit:
                self._end_runs(study, State.STOPPING)
            while self._has_room(self._studies[study_id]):
                if not await self._send(study_id):
                    break
            study = self._studies[study_id]
            under_way = [run for run in study.runs if not run.ended]
            if not under_way:
                break
            await self._news([self._engine.get(run.job) for run in under_way])
        self._show(replace(study, state=_ending(study), ended=time.time()))

    def _has_room(self, study: Study) -> bool:
        running = sum(not run.ended for run in study.runs)
        fits = running < study.aim.at_once and len(study.runs) < study.aim.trials
        return study.state is State.RUNNING and fits

    async def _send(self, study_id: str) -> bool:
        """Send one more trial; False: there is nothing else to try."""
        study = self._studies[study_id]
        aim, trials = study.aim, [run.trial() for run in study.runs]
        values = await asyncio.to_thread(
            next_values, aim.parameters, trials, aim.algorithm, aim.maximize, aim.seed
        )
        study = self._studies[study_id]  # it may have been stopped meanwhile
        if values is None or study.state is not State.RUNNING:
            return False
        with self._records.transaction():
            job = self._clouds[study.cloud].send(study, len(study.runs) + 1, values)
            self._show(replace(study, runs=(*study.runs, TrialJob(job, values))))
        return True

    async def _judge(self, study_id: str) -> None:
        """Write down what came of the trials whose jobs have ended."""
        study = self._studies[study_id]
        for place, run in enumerate(study.runs):
            job = self._engine.get(run.job)
            if run.ended or not job.state.ended:
                continue
            judge = self._clouds[study.cloud].judge
            found = await asyncio.to_thread(judge, study, place + 1, job)
            facts: dict[str, Any] = (
                {"reason": found} if isinstance(found, str) else {"result": found}
            )
            now = self._studies[study_id]
            runs = list(now.runs)
            runs[place] = replace(run, **facts)
            self._show(replace(now, runs=tuple(runs)))

    async def _news(self, jobs: list[Job]) -> None:
        """Wait until the state of one of these jobs changes, if none has ended already."""
        if any(job.state.ended for job in jobs):
            return
        watching = [asyncio.ensure_future(self._engine.changed(job, 3600)) for job in jobs]
        try:
            await asyncio.wait(watching, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in watching:
                each.cancel()

    def _left(self, study_id: str, task: asyncio.Task[None]) -> None:
        """A study is conducted no further: it has ended, or the server does."""
        self._tasks.pop(study_id)
        if not task.cancelled() and (problem := task.exception()):
            # A fault in this program; the study must not seem to run for ever.
            logging.getLogger(__name__).error("study %s", study_id, exc_info=problem)
            self._show(replace(self.get(study_id), state=State.FAILED, ended=time.time()))


def _ending(study: Study) -> State:
    """How a study has ended of which nothing runs any more."""
    limit = study.aim.failures
    if limit is not None and study.failed >= limit:
        return State.FAILED
    return State.STOPPED if study.state is State.STOPPING else State.SUCCEEDED
