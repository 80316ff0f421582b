"""The addresses of the API (cloud.google.com/bigquery/docs/reference/rest) and who serves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from local_cloud.google.bigquery.api import discovery
from local_cloud.google.bigquery.api.errors import not_implemented
from local_cloud.google.bigquery.parts import Parts
from local_cloud.google.bigquery.tables.call import API
from local_cloud.google.rest import VERBS, describe

_PROJECTS = "/bigquery/v2/projects"
_PROJECT = f"{_PROJECTS}/{{project}}"
_DATASETS = f"{_PROJECT}/datasets"
_DATASET = f"{_DATASETS}/{{dataset}}"
_TABLES = f"{_DATASET}/tables"
_TABLE = f"{_TABLES}/{{table}}"
_MODELS = f"{_DATASET}/models"
_MODEL = f"{_MODELS}/{{model}}"
_JOBS = f"{_PROJECT}/jobs"
_JOB = f"{_JOBS}/{{job}}"
_QUERIES = f"{_PROJECT}/queries"
Method = tuple[str, str, str, Callable[..., Any]]


def methods(parts: Parts) -> list[Method]:
    """Return the API's methods that are here: name, verb, path, handler."""
    datasets, tables, queries = parts.datasets, parts.tables, parts.queries
    return [
        ("projects.list", "GET", _PROJECTS, parts.projects),
        ("datasets.insert", "POST", _DATASETS, datasets.insert),
        ("datasets.list", "GET", _DATASETS, datasets.list),
        ("datasets.get", "GET", _DATASET, datasets.get),
        ("datasets.patch", "PATCH", _DATASET, datasets.patch),
        ("datasets.update", "PUT", _DATASET, datasets.update),
        ("datasets.delete", "DELETE", _DATASET, datasets.delete),
        ("tables.insert", "POST", _TABLES, tables.insert),
        ("tables.list", "GET", _TABLES, tables.list),
        ("tables.get", "GET", _TABLE, tables.get),
        ("tables.patch", "PATCH", _TABLE, tables.patch),
        ("tables.update", "PUT", _TABLE, tables.patch),
        ("tables.delete", "DELETE", _TABLE, tables.delete),
        ("tabledata.list", "GET", f"{_TABLE}/data", tables.data),
        ("tabledata.insertAll", "POST", f"{_TABLE}/insertAll", parts.streaming.insert),
        ("models.list", "GET", _MODELS, parts.models.list),
        ("models.get", "GET", _MODEL, parts.models.get),
        ("models.patch", "PATCH", _MODEL, parts.models.patch),
        ("models.delete", "DELETE", _MODEL, parts.models.delete),
        ("jobs.insert", "POST", _JOBS, queries.insert),
        ("jobs.list", "GET", _JOBS, queries.list),
        ("jobs.get", "GET", _JOB, queries.get),
        ("jobs.cancel", "POST", f"{_JOB}/cancel", queries.cancel),
        ("jobs.delete", "DELETE", f"{_JOB}/delete", queries.delete),
        ("jobs.query", "POST", _QUERIES, queries.query),
        ("jobs.getQueryResults", "GET", f"{_QUERIES}/{{job}}", queries.results),
    ]


def routes(parts: Parts) -> list[BaseRoute]:
    """Return the routes of all of BigQuery; what it has not is answered with 501.

    The path that the routes see must be undecoded.
    """
    declared = methods(parts)
    upload = f"/upload{_JOBS}"

    async def describe(request: Request) -> Response:
        if request.query_params.get("version", "v2") != "v2":
            raise not_implemented("discovery documents of services other than BigQuery")
        base = str(request.base_url).rstrip("/")
        named = [(name, verb, path) for name, verb, path, _ in declared]
        return JSONResponse(discovery.document(named, base))

    return [
        *(API.route(verb, path, handler) for _, verb, path, handler in declared),
        Route(upload, parts.uploads.insert, methods=["POST"]),
        Route(upload, parts.uploads.resume, methods=["PUT"]),
        Route("/$discovery/rest", API.wrap(describe), methods=["GET"]),
        Route("/discovery/v1/apis/bigquery/v2/rest", API.wrap(describe), methods=["GET"]),
        Route("/bigquery/v2/{rest:path}", API.wrap(_refuse), methods=VERBS),
        Route("/upload/bigquery/v2/{rest:path}", API.wrap(_refuse), methods=VERBS),
    ]


async def _refuse(request: Request) -> Response:
    raise not_implemented(describe(request))
