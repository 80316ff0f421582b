"""What answers in BigQuery's place where its libraries are not installed."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from local_cloud.google.bigquery.api.errors import Problem, not_implemented
from local_cloud.google.rest import VERBS
from local_cloud.platform import Platform, Service

PATHS = ("/bigquery/v2/{rest:path}", "/upload/bigquery/v2/{rest:path}", "/$discovery/rest")


def service(platform: Platform, why: str) -> Service:
    """Return a service that refuses every request, and says what to install."""

    async def refuse(_: Request) -> Response:
        return _refusal(why).response()

    def refuse_table(uri: str, _: Path) -> None:
        raise _refusal(f"({uri}) {why}")

    platform.tables["bq"] = refuse_table
    return Service(routes=[Route(path, refuse, methods=VERBS) for path in PATHS])


def _refusal(why: str) -> Problem:
    return not_implemented(f"BigQuery {why}")
