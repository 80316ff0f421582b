"""What a cloud is to the server, and what the server has for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from local_cloud.engine.base import BaseOf, own_only
from local_cloud.engine.dialect import Dialect
from local_cloud.engine.isolation.job_network import Door
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.serving.deployments import Deployments
from local_cloud.engine.serving.spec import Deployment, ServingState
from local_cloud.engine.spec import Job
from local_cloud.engine.studies.spec import Study
from local_cloud.engine.studies.studies import Studies
from local_cloud.engine.warm.warm_start import ForkServer
from local_cloud.store.damage import damage_error
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.space import Space
from local_cloud.store.values import Bucket
from local_cloud.store.walk import Walk

ErrorHandler = Callable[[Request, Any], Response]


class Runner(Protocol):
    """What a service itself runs beside the engine: pipelines."""

    def start(self) -> None:
        """Resume what an earlier server has left; the engine has started."""

    async def close(self) -> None:
        """Run it no further; the next start resumes it."""


@dataclass(frozen=True)
class Service:
    """A cloud, or one of its services: what it adds to the server."""

    routes: Sequence[BaseRoute] = ()
    first: Sequence[BaseRoute] = ()  # those that are used most: they are tried before all others
    dialect: Dialect | None = None  # of a cloud that runs jobs
    errors: Mapping[type[Exception], ErrorHandler] = field(default_factory=dict)
    runners: Sequence[Runner] = ()
    # Each makes an application that sees every request before this one does.
    before: Sequence[Callable[[ASGIApp], ASGIApp]] = ()


@dataclass(frozen=True)
class Platform:
    """What all services stand on: records, buckets, the engine and its studies.

    The buckets of one cloud are invisible to the other.
    """

    records: Records
    gs: Objects  # the buckets of gs:// URIs
    s3: Objects  # those of s3:// URIs, with records of their own
    engine: JobQueue
    studies: Studies
    serving: Deployments
    environment: dict[str, str]  # by which SDKs inside a job find this local cloud
    folder: Path  # where services keep what is neither a record nor an object
    runners: list[Runner] = field(default_factory=list)  # those that start() has started
    at_close: list[Callable[[], None]] = field(default_factory=list)  # their own parts' ends
    # By the scheme of its URI, what writes a table as a CSV file: a service's, for the others.
    tables: dict[str, Callable[[str, Path], None]] = field(default_factory=dict)
    # By its name in SQL, what registers a model: its project, its id, its name.
    registries: dict[str, Callable[[str, str, str], None]] = field(default_factory=dict)
    # By their name, in the plural, what counts those that a service itself runs.
    counts: dict[str, Callable[[], int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        folder: Path,
        environment: dict[str, str],
        space: Space | None = None,
        *,
        cores: int | None = None,
        hook: Path | None = None,
        hidden: str = "",
        base_of: BaseOf = own_only,
        door: Door | None = None,
        private: Sequence[Path] = (),
        fork_server: ForkServer | None = None,
    ) -> Platform:
        """Open what is in the folder, or make it; the engine is not started.

        space: how much may be written there; cores, hook, hidden, base_of, door, private,
        fork_server: the engine's.
        """
        records, s3_records = Records(folder / "records.sqlite"), Records(folder / "s3.sqlite")
        _require_records_of(folder, ("buckets", "jobs", "deployments"), records)
        _require_records_of(folder, ("s3-buckets",), s3_records)
        engine = JobQueue(
            folder / "jobs",
            records,
            cores=cores,
            hook=hook,
            space=space,
            hidden=hidden,
            base_of=base_of,
            door=door,
            private=private,
            given=_paths_below(private, environment),
            fork_server=fork_server,
        )
        return cls(
            records=records,
            gs=Objects(folder / "buckets", records, space),
            s3=Objects(folder / "s3-buckets", s3_records, space),
            engine=engine,
            studies=Studies(records, engine),
            serving=Deployments(folder / "deployments", records, engine),
            environment=environment,
            folder=folder,
        )

    def require_understood(self) -> None:
        """Raise DamagedStore for a bucket, job, study or deployment whose record makes no sense.

        It is called before anything runs: a job that was begun and cut off again would be lost.
        """
        for records, kind, make in (
            (self.records, "bucket", lambda document: Bucket(**document)),
            (self.s3.records, "bucket", lambda document: Bucket(**document)),
            (self.records, "job", Job.of),
            (self.records, "deployment", Deployment.of),
            (self.records, "study", lambda document: Study.of(document, ())),
        ):
            for name, document in records.list(kind):
                with records.name_record_in_errors(kind, name):
                    make(document)

    async def start(self, services: Sequence[Service]) -> None:
        """Start the engine and the studies, with the dialects of these services."""
        self.require_understood()
        dialects = [service.dialect for service in services if service.dialect]
        self.engine.failures.start({one.name: one.failures for one in dialects if one.failures})
        await self.engine.start({name: run for one in dialects for name, run in one.jobs.items()})
        self.studies.start({one.name: one.tuning for one in dialects})
        self.serving.start({one.name: one.serving for one in dialects if one.serving})
        for runner in (runner for service in services for runner in service.runners):
            runner.start()
            self.runners.append(runner)

    def count_running(self) -> dict[str, int]:
        """Return what an end of the server would cut off or hold up: by kind, how many.

        A notebook instance is not among them: it is a record, and no process.
        """
        deployed = self.serving.deployments()
        counts = {
            "jobs": sum(not job.state.ended for job in self.engine.jobs()),
            "studies": sum(not study.state.ended for study in self.studies.all()),
            "deployed models": sum(one.state is not ServingState.FAILED for one in deployed),
            **{kind: count() for kind, count in self.counts.items()},
        }
        return {kind: count for kind, count in counts.items() if count}

    async def close(self) -> None:
        """Stop what runs, then close the records."""
        for runner in self.runners:
            await runner.close()
        await self.studies.close()
        await self.serving.close()
        await self.engine.close()
        await asyncio.to_thread(self.close_records)

    def close_records(self) -> None:
        """Close the records of a platform that was not started."""
        for close in self.at_close:
            close()
        self.records.close()
        self.s3.records.close()


def _paths_below(folders: Sequence[Path], environment: Mapping[str, str]) -> list[Path]:
    """Return the paths in these folders to which variables lead: configuration of clients."""
    return [
        Path(text)
        for text in environment.values()
        if any(text.startswith(f"{folder}/") for folder in folders)
    ]


def _require_records_of(folder: Path, kinds: Sequence[str], records: Records) -> None:
    """Raise DamagedStore if there is no record at all, but something that records must tell of.

    A bucket's folder alone says nothing: that of a bucket that was deleted stays if there is
    something in it that is not an object, or if the server was killed before it was removed.
    """
    if not records.is_empty():
        return
    for kind in kinds:
        for path in sorted((folder / kind).glob("[!.]*")):
            is_bucket = kind.endswith("buckets")
            first = next(Walk(path) if is_bucket else path.glob("*"), None)
            if first is not None:
                why = f"it holds no record, but there is {path.relative_to(folder)}"
                raise damage_error(records.path, why)
