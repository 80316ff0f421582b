"""Jobs while the disk takes nothing more, and once it does again."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from local_cloud.engine.jobs import job_table
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import Job, JobContext, NoSuchJob, Plan, State
from local_cloud.store.records import Document, Records
from tests.engine.studies.test_study import SPEC, Lab, end, laboratory
from tests.engine.support import SLEEP, Cloud, plan, python, run, until, written


class Full(Records):
    """Records on a disk that is full while `full` is set, as SQLite says it."""

    full = False

    def put(self, kind: str, name: str, document: Document) -> None:
        self._refuse()
        super().put(kind, name, document)

    def delete(self, kind: str, name: str) -> None:
        self._refuse()
        super().delete(kind, name)

    def _refuse(self) -> None:
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is tried again at once."""
    monkeypatch.setattr(job_table, "RETRY", 0.05)


@asynccontextmanager
async def on_disk(folder: Path, cloud: Any) -> AsyncIterator[tuple[JobQueue, Full]]:
    """An engine with one core, and its records."""
    records = Full(folder / "records.db")
    running = JobQueue(folder / "jobs", records, cores=1)
    await running.start({"cloud": cloud})
    try:
        yield running, records
    finally:
        records.full = False
        await running.close()
        records.close()


def recorded(records: Records, name: str) -> Job:
    document = records.get("job", name)
    assert document
    return Job.of(document)


def test_a_job_that_ends_meanwhile_has_its_state_as_soon_as_it_can_be_written(
    tmp_path: Path,
) -> None:
    ends = python("import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)")
    cloud = Cloud(a=plan(ends), b=plan(python("")))

    async def story() -> None:
        async with on_disk(tmp_path, cloud) as (here, records):
            here.submit("cloud", "a", 1)
            here.submit("cloud", "b", 1)
            await until(here, "a", State.RUNNING)
            waiting = asyncio.create_task(until(here, "a"))
            records.full = True
            (tmp_path / "jobs/a/r0/go").touch()
            while not cloud.collected:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            # Nobody is told of what a killed server would have forgotten.
            assert here.get("a") == recorded(records, "a")
            assert here.get("a").state is State.RUNNING
            assert here.get("b").state is State.QUEUED
            records.full = False
            assert (await waiting).state is State.SUCCEEDED
            assert recorded(records, "a") == here.get("a")
            assert (await until(here, "b")).state is State.SUCCEEDED

    run(story())


def test_a_job_runs_on_when_it_cannot_be_recorded_that_it_runs(tmp_path: Path) -> None:
    def staged(context: JobContext) -> Plan:
        disk[0].full = True
        return plan(python("print('ran')"))

    disk: list[Full] = []

    async def story() -> None:
        async with on_disk(tmp_path, Cloud(a=staged)) as (here, records):
            disk.append(records)
            here.submit("cloud", "a", 1)
            assert await written(here.log("a", "r0")) == ["ran"]
            records.full = False
            job = await until(here, "a")
            assert job.state is State.SUCCEEDED and job.started

    run(story())


def test_a_running_job_can_be_stopped_to_make_room(tmp_path: Path) -> None:
    async def story() -> None:
        async with on_disk(tmp_path, Cloud(a=plan(SLEEP))) as (here, records):
            here.submit("cloud", "a", 1)
            await until(here, "a", State.RUNNING)
            records.full = True
            here.stop("a")
            await asyncio.sleep(0.2)
            records.full = False
            assert (await until(here, "a")).state is State.STOPPED

    run(story())


def test_what_is_refused_does_not_exist(tmp_path: Path) -> None:
    """Also when only the end of the transaction finds the disk full."""

    async def story() -> None:
        async with on_disk(tmp_path, Cloud(a=plan(python("")))) as (here, records):
            for _ in range(2):
                with pytest.raises(ZeroDivisionError), records.transaction():
                    here.submit("cloud", "a", 1)
                    raise ZeroDivisionError
            with pytest.raises(NoSuchJob):
                here.get("a")
            assert list(here.jobs()) == []
            with records.transaction():
                here.submit("cloud", "a", 1)
            assert (await until(here, "a")).state is State.SUCCEEDED
            with pytest.raises(ZeroDivisionError), records.transaction():
                here.delete("a")
                raise ZeroDivisionError
            assert here.get("a") == recorded(records, "a")
            assert here.log("a", "r0").exists()

    run(story())


@pytest.mark.parametrize("step", ["stage", "collect"])
def test_a_step_that_the_disk_refuses_fails_the_job_in_words(tmp_path: Path, step: str) -> None:
    class Refusing(Cloud):
        def stage(self, job_id: str, context: JobContext) -> Plan:
            return self._refuse("stage") or super().stage(job_id, context)

        def collect(self, job: Job) -> None:
            self._refuse("collect")

        def _refuse(self, now: str) -> None:
            if now == step:
                raise sqlite3.OperationalError("database or disk is full")

    async def story() -> None:
        async with on_disk(tmp_path, Refusing(a=plan(python("")))) as (here, _):
            here.submit("cloud", "a", 1)
            job = await until(here, "a")
            assert job.outcome and job.state is State.FAILED
            assert (job.outcome.message, job.outcome.reason) == (
                "database or disk is full",
                {"stage": "staging"}.get(step, step),
            )

    run(story())


@pytest.mark.parametrize("what", ["mkdir", "open"])
def test_no_room_for_a_jobs_folder_or_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    real = getattr(Path, what)

    def refuse(path: Path, *words: Any, **more: Any) -> Any:
        if path.is_relative_to(tmp_path / "jobs/a"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return real(path, *words, **more)

    async def story() -> None:
        cloud = Cloud(a=plan(python("")), b=plan(python("")))
        async with on_disk(tmp_path, cloud) as (here, _):
            monkeypatch.setattr(Path, what, refuse)
            here.submit("cloud", "a", 1)
            here.submit("cloud", "b", 1)
            job = await until(here, "a")
            assert job.outcome and (job.state, job.outcome.reason) == (State.FAILED, "staging")
            assert "No space left" in job.outcome.message
            assert (await until(here, "b")).state is State.SUCCEEDED

    run(story())


def test_a_study_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead[2] = python("import time; time.sleep(0.5); print(1)")
        async with laboratory(tmp_path, lab, records=Full) as studies:
            records = studies._table.records
            assert isinstance(records, Full)
            studies.submit("lab", "s", SPEC)
            while not studies.get("s").best:
                await studies.wait_for_change(studies.get("s"), 10)
            records.full = True
            await asyncio.sleep(1)
            assert [trial.ended for trial in studies.get("s").trials].count(False)
            records.full = False
            study = await end(studies)
            assert (study.state, len(study.trials)) == (State.SUCCEEDED, 6)
            assert all(trial.result is not None for trial in study.trials)
            with pytest.raises(ZeroDivisionError), records.transaction():
                studies.submit("lab", "refused", SPEC)
                raise ZeroDivisionError
            assert [one.id for one in studies.all()] == ["s"]

    run(story())


def test_when_only_the_start_of_a_job_cannot_be_recorded_it_starts_later(tmp_path: Path) -> None:
    async def story() -> None:
        async with on_disk(tmp_path, Cloud(a=plan(python("")))) as (here, records):
            here.submit("cloud", "a", 1)
            records.full = True
            began = time.monotonic()
            while time.monotonic() < began + 0.2:
                await asyncio.sleep(0.01)
            assert here.get("a").state is State.QUEUED
            records.full = False
            assert (await until(here, "a")).state is State.SUCCEEDED

    run(story())
