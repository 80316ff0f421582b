"""What a cloud is to the server, and what the server has for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from local_cloud.aws.dispatcher import Api
from local_cloud.engine.base import BaseOf, own_only
from local_cloud.engine.dialect import Dialect
from local_cloud.engine.engine import Engine
from local_cloud.engine.serving import Serving
from local_cloud.engine.studies import Studies
from local_cloud.projects import Projects
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.space import Space

ErrorHandler = Callable[[Request, Any], Response]


@dataclass(frozen=True)
class Service:
    """A cloud, or one of its services: what it adds to the server."""

    routes: Sequence[BaseRoute] = ()
    first: Sequence[BaseRoute] = ()  # those that are used most: they are tried before all others
    apis: Sequence[Api] = ()  # Amazon's, behind its one endpoint
    dialect: Dialect | None = None  # of a cloud that runs jobs
    errors: Mapping[type[Exception], ErrorHandler] = field(default_factory=dict)


@dataclass(frozen=True)
class Platform:
    """What all services stand on: records, buckets, the engine and its studies.

    The buckets of one cloud are invisible to the other.
    """

    records: Records
    gs: Objects  # the buckets of gs:// URIs
    s3: Objects  # those of s3:// URIs, with records of their own
    engine: Engine
    studies: Studies
    serving: Serving
    projects: Projects
    environment: dict[str, str]  # by which SDKs inside a job find this local cloud

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
    ) -> Platform:
        """Open what is in the folder, or make it; the engine is not started.

        space: how much may be written there; cores, hook, hidden, base_of: the
        engine's.
        """
        records, s3_records = Records(folder / "records.sqlite"), Records(folder / "s3.sqlite")
        engine = Engine(folder / "jobs", records, cores, hook, space, hidden, base_of)
        return cls(
            records=records,
            gs=Objects(folder / "buckets", records, space),
            s3=Objects(folder / "s3-buckets", s3_records, space),
            engine=engine,
            studies=Studies(records, engine),
            serving=Serving(folder / "deployments", records, engine),
            projects=Projects(records),
            environment=environment,
        )

    async def start(self, services: Sequence[Service]) -> None:
        """Start the engine and the studies, with the dialects of these services."""
        dialects = [service.dialect for service in services if service.dialect]
        await self.engine.start({one.name: one.training for one in dialects})
        self.studies.start({one.name: one.tuning for one in dialects})
        self.serving.start({one.name: one.serving for one in dialects if one.serving})

    async def close(self) -> None:
        """Stop what runs, then close the records."""
        await self.studies.close()
        await self.serving.close()
        await self.engine.close()
        self.close_records()

    def close_records(self) -> None:
        """Close the records of a platform that was not started."""
        self.records.close()
        self.s3.records.close()
