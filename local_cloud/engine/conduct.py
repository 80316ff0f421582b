"""How a study is conducted: trials are judged and sent until there have been enough.

What is tried next is chosen in `search`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from local_cloud.engine.search import next_values
from local_cloud.engine.spec import State

if TYPE_CHECKING:
    from local_cloud.engine.studies import Studies
    from local_cloud.engine.study import Cloud, Study


class Conductor:
    """Conducts one study to its end."""

    def __init__(self, studies: Studies, study_id: str) -> None:
        """studies: where it is on record."""
        self._studies, self._id = studies, study_id
        self._engine = studies.engine
        self._watching: dict[str, asyncio.Task[None]] = {}  # the trials' jobs that run

    @property
    def _study(self) -> Study:
        """The study as it stands."""
        return self._studies.get(self._id)

    @property
    def _cloud(self) -> Cloud:
        return self._studies.clouds[self._study.cloud]

    async def live(self) -> None:
        """Judge and send, until nothing runs any more and nothing is to be sent."""
        if self._study.state is State.STOPPING:  # jobs that wait outlive a server
            self._studies.end_runs(self._id)
        try:
            while True:
                await self._judge()
                if self._study.state is State.RUNNING and self._study.hopeless:
                    self._studies.end_runs(self._id)
                while self._has_room() and await self._send():
                    pass
                if all(run.ended for run in self._study.runs):
                    break
                await self._news()
        finally:
            for task in self._watching.values():
                task.cancel()
        self._studies.end(self._id)

    def _has_room(self) -> bool:
        study = self._study
        running = sum(not run.ended for run in study.runs)
        fits = running < study.aim.at_once and len(study.runs) < study.aim.trials
        return study.state is State.RUNNING and fits

    async def _send(self) -> bool:
        """Send one more trial; False: there is nothing else to try."""
        aim, trials = self._study.aim, [run.trial() for run in self._study.runs]
        values = await asyncio.to_thread(
            next_values, aim.parameters, trials, aim.algorithm, aim.maximize, aim.seed
        )
        # It may have been stopped meanwhile.
        if values is None or self._study.state is not State.RUNNING:
            return False
        self._studies.send(self._id, values)
        return True

    async def _judge(self) -> None:
        """Write down what came of the trials whose jobs have ended."""
        for place, run in enumerate(self._study.runs):
            if run.ended or not (job := self._engine.get(run.job)).state.ended:
                continue
            found = await asyncio.to_thread(self._cloud.judge, self._study, place + 1, job)
            facts: dict[str, Any] = {"result": found}
            if isinstance(found, str):
                facts = {"reason": found, "silent": job.state is State.SUCCEEDED}
            self._studies.note(self._id, place, **facts)

    async def _news(self) -> None:
        """Wait until the job of a trial has ended."""
        for run in self._study.runs:
            if not run.ended and run.job not in self._watching:
                self._watching[run.job] = asyncio.create_task(self._end_of(run.job))
        await asyncio.wait(self._watching.values(), return_when=asyncio.FIRST_COMPLETED)
        self._watching = {job: task for job, task in self._watching.items() if not task.done()}

    async def _end_of(self, job_id: str) -> None:
        job = self._engine.get(job_id)
        while not job.state.ended:
            job = await self._engine.changed(job, 3600)
