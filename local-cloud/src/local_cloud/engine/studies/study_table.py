"""The studies as they are on record: the disk first, then memory, then whoever waits for a change.

Every trial has a record of its own: what has been written of one is not written again for each that
follows.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import Any

from local_cloud.engine.spec import EngineError
from local_cloud.engine.studies.spec import Study, TrialJob
from local_cloud.store.records import Records

KIND, TRIAL = "study", "study-trial"


def _nothing() -> None: ...


class StudyTable:
    """All studies, each seen only as it is on record."""

    def __init__(self, records: Records) -> None:
        """Keep the records; nothing is read before load()."""
        self.records = records
        self._studies: dict[str, Study] = {}
        self._changed: dict[str, asyncio.Event] = {}

    def load(self) -> list[Study]:
        """Read the studies that an earlier server has left, by name."""
        for name, document in self.records.list(KIND):
            trials = [trial for _, trial in self.records.list(TRIAL, prefix=f"{name}/")]
            with self.records.name_record_in_errors(KIND, name):
                self._studies[name] = Study.of(document, trials)
        return list(self)

    def __contains__(self, study_id: str) -> bool:
        """Return whether there is such a study."""
        return study_id in self._studies

    def __iter__(self) -> Iterator[Study]:
        """Yield all studies, by name."""
        yield from list(self._studies.values())

    def get(self, study_id: str) -> Study:
        """Return the study as it stands; EngineError if there is none."""
        try:
            return self._studies[study_id]
        except KeyError:
            raise EngineError(f"there is no study {study_id}") from None

    async def wait_for_change(self, study: Study, timeout: float) -> Study:
        """Return the study as soon as it differs from this, or after timeout seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while self.get(study.id) == study:
                    await self._changed.setdefault(study.id, asyncio.Event()).wait()
        return self.get(study.id)

    def put(self, study: Study, then: Callable[[], None] = _nothing) -> None:
        """Record the study as it now stands; it is seen, and then called, once that is done."""

        def see() -> None:
            self._studies[study.id] = study
            self._wake(study.id)
            then()

        self.records.put(KIND, study.id, study.document())
        self.records.when_written(see)

    def put_trial(self, study: Study, place: int, trial: TrialJob) -> None:
        """Record one of the study's trials, new or known."""

        def see() -> None:
            trials = (*study.trials[:place], trial, *study.trials[place + 1 :])
            self._studies[study.id] = replace(study, trials=trials)
            self._wake(study.id)

        self.records.put(TRIAL, _name(study.id, place), asdict(trial))
        self.records.when_written(see)

    def note(self, study_id: str, place: int, **facts: Any) -> None:
        """Keep what has come to be known of a trial."""
        study = self.get(study_id)
        self.put_trial(study, place, replace(study.trials[place], **facts))

    def remove(self, study: Study) -> None:
        """Forget a study and its trials."""

        def forget() -> None:
            del self._studies[study.id]
            self._wake(study.id)

        with self.records.transaction():
            for place in range(len(study.trials)):
                self.records.delete(TRIAL, _name(study.id, place))
            self.records.delete(KIND, study.id)
            self.records.when_written(forget)

    def _wake(self, study_id: str) -> None:
        if event := self._changed.pop(study_id, None):
            event.set()


def _name(study_id: str, place: int) -> str:
    """Return the name of a trial's record: in order, also beyond the ninth."""
    return f"{study_id}/{place:06}"
