"""Handlers of …/jobs and …/queries."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import Future

from starlette.concurrency import run_in_threadpool

from local_cloud.google.bigquery.api.errors import (
    LOCATION,
    Problem,
    invalid,
    missing_parameter,
    not_implemented,
)
from local_cloud.google.bigquery.catalog import rows
from local_cloud.google.bigquery.catalog.catalog import Document, Name
from local_cloud.google.bigquery.catalog.names import target_of
from local_cloud.google.bigquery.catalog.outcome import USER, Cursor, Outcome, Request
from local_cloud.google.bigquery.jobs.engine import Runner
from local_cloud.google.bigquery.jobs.jobs import Handler, Jobs, job_document
from local_cloud.google.bigquery.tables.call import page_of
from local_cloud.google.rest import Call, inner
from local_cloud.http.whole_numbers import whole

PATIENCE = 10_000  # milliseconds that a query is waited for, unless the client says otherwise
CODES = {
    "notFound": 404,
    "duplicate": 409,
    "notImplemented": 501,
    "fault": 500,
    "quotaExceeded": 507,
}
KINDS = ("query", "load", "extract", "copy")


class Queries:
    """Jobs of all kinds."""

    def __init__(self, runner: Runner, jobs: Jobs, others: dict[str, Handler]) -> None:
        """others: what runs the kinds of job other than query."""
        self._database, self._catalog = runner.database, runner.catalog
        self._runner, self._jobs = runner, jobs
        self._handlers: dict[str, Handler] = {"query": self._run} | others

    def insert(self, call: Call) -> Document:
        """POST …/jobs"""
        return self.start(call.path("project"), call.body, None)

    def start(self, project: str, body: Document, media: Handler | None) -> Document:
        """Start a job of this configuration; media: what loads a file that was sent with it."""
        configuration = dict(inner(body, "configuration"))
        kinds = [kind for kind in KINDS if isinstance(configuration.get(kind), dict)]
        if len(kinds) != 1:
            raise invalid("Job configuration must contain exactly one job-specific configuration")
        (kind,) = kinds
        configuration["jobType"] = kind.upper()
        if kind == "query":
            request = request_of(project, configuration["query"])
            if configuration.get("dryRun"):
                return self._dry(project, configuration, request)
        handler = media or self._handlers[kind]
        reference = inner(body, "jobReference")
        return self._jobs.create(project, configuration, reference, user=USER, handler=handler)

    def _dry(self, project: str, configuration: Document, request: Request) -> Document:
        with self._database.cursor() as cursor:
            statistics = self._runner.dry(cursor, request)
        document = job_document(project, "", configuration, user=USER)
        document["status"] = {"state": "DONE"}
        document["statistics"]["query"] = statistics
        document["statistics"]["totalBytesProcessed"] = statistics["totalBytesProcessed"]
        del document["jobReference"]["jobId"]
        return document

    def _run(self, cursor: Cursor, document: Document) -> Outcome:
        project = document["jobReference"]["projectId"]
        request = request_of(project, document["configuration"]["query"])
        request.check = lambda: self._jobs.check(document)
        return self._runner.run(cursor, request, self._jobs.result(document))

    def get(self, call: Call) -> Document:
        """GET …/jobs/{job}"""
        return self._jobs.get(call.path("project"), call.path("job"))

    def list(self, call: Call) -> Document:
        """GET …/jobs"""
        wanted = {one.upper() for one in call.request.query_params.getlist("stateFilter")}
        names = self._jobs.list(call.path("project"), wanted)
        chosen, more = page_of(names, call, look_up=self._jobs.get_listed)
        jobs = [one | {"state": one["status"]["state"]} for one in chosen]
        return {"kind": "bigquery#jobList", "jobs": jobs} | more

    def cancel(self, call: Call) -> Document:
        """POST …/jobs/{job}/cancel"""
        cancelled = self._jobs.cancel(call.path("project"), call.path("job"))
        return {"kind": "bigquery#jobCancelResponse", "job": cancelled}

    def delete(self, call: Call) -> None:
        """DELETE …/jobs/{job}/delete"""
        self._jobs.delete(call.path("project"), call.path("job"))

    async def results(self, call: Call) -> Document:
        """GET …/queries/{job}"""
        project, job = call.path("project"), call.path("job")
        await self._wait(project, job, call.whole("timeoutMs"))
        return await run_in_threadpool(
            self._results,
            project,
            job,
            most=call.whole("maxResults"),
            start=rows.token(call.query.get("pageToken")) or call.whole("startIndex") or 0,
            micros=call.flag("formatOptions.useInt64Timestamp"),
        )

    async def query(self, call: Call) -> Document:
        """POST …/queries"""
        project, body = call.path("project"), call.body
        query = {key: body[key] for key in OF_QUERY if key in body}
        configuration: Document = {"query": query}
        for key in ("dryRun", "labels"):
            if body.get(key):
                configuration[key] = body[key]
        if body.get("queryResultsFormat", "STRUCT_ENCODING") != "STRUCT_ENCODING":
            raise not_implemented(f"queryResultsFormat {body['queryResultsFormat']}")
        document = await run_in_threadpool(
            self.start, project, {"configuration": configuration}, None
        )
        if body.get("dryRun"):
            statistics = document["statistics"]["query"]
            kept = {
                key: statistics[key]
                for key in ("schema", "totalBytesProcessed")
                if key in statistics
            }
            reference = document["jobReference"]
            return {"jobComplete": True, "jobReference": reference, "totalRows": "0"} | kept
        job = document["jobReference"]["jobId"]
        await self._wait(project, job, body.get("timeoutMs"))
        micros = bool(inner(body, "formatOptions").get("useInt64Timestamp"))
        most = body.get("maxResults")
        answer = await run_in_threadpool(
            self._results, project, job, most=most, start=0, micros=micros
        )
        return answer | {"kind": "bigquery#queryResponse", "queryId": job}

    async def _wait(self, project: str, job: str, milliseconds: int | None) -> None:
        """Wait for a job to end, but not longer than this."""
        future: Future[None] | None = self._jobs.find_running(project, job)
        if future is not None:
            patience = PATIENCE if milliseconds is None else int(milliseconds)
            await asyncio.wait([asyncio.wrap_future(future)], timeout=min(patience, 60_000) / 1000)

    def _results(
        self, project: str, job: str, *, most: int | None, start: int, micros: bool
    ) -> Document:
        document = self._jobs.get(project, job)
        answer: Document = {
            "kind": "bigquery#getQueryResultsResponse",
            "etag": document["etag"],
            "jobReference": document["jobReference"],
            "jobComplete": document["status"]["state"] == "DONE",
            "location": LOCATION,
        }
        if not answer["jobComplete"]:
            return answer
        if problem := document["status"].get("errorResult"):
            code = CODES.get(problem["reason"], 400)
            raise Problem(code, problem["reason"], problem["message"], problem.get("location", ""))
        if document["configuration"]["jobType"] != "QUERY":
            raise invalid(f"Job {project}:{job} is not a query")
        return answer | self._finish(document, most, start=start, micros=micros)

    def _finish(
        self, document: Document, most: int | None, *, start: int, micros: bool
    ) -> Document:
        statistics = document["statistics"]["query"]
        answer: Document = {
            "totalBytesProcessed": statistics["totalBytesProcessed"],
            "cacheHit": False,
        }
        for key in ("numDmlAffectedRows", "dmlStats"):
            if key in statistics:
                answer[key] = statistics[key]
        times = document["statistics"]
        answer |= {key: times[key] for key in ("creationTime", "startTime", "endTime")}
        reference = document["configuration"]["query"].get("destinationTable")
        if statistics["statementType"] != "SELECT" or not reference:
            return answer | {"totalRows": answer.get("numDmlAffectedRows", "0")}
        name = Name(reference["projectId"], reference["datasetId"], reference["tableId"])
        schema = self._catalog.get(name)["schema"]
        page = rows.page(
            self._catalog, name, schema["fields"], start=start, most=most, micros=micros
        )
        return answer | {"schema": schema} | page


OF_QUERY = (
    "query",
    "defaultDataset",
    "queryParameters",
    "parameterMode",
    "useLegacySql",
    "destinationTable",
    "writeDisposition",
    "createDisposition",
    "maximumBytesBilled",
    "useQueryCache",
    "destinationEncryptionConfiguration",
    "connectionProperties",
)
UNKNOWN = ("tableDefinitions", "userDefinedFunctionResources", "timePartitioning", "clustering")


_LEGACY = re.compile(r"\s*#legacysql\b", re.IGNORECASE)


def _bytes(value: object) -> int | None:
    """maximumBytesBilled: a whole number in text; 0 or nothing is no limit."""
    if value in (None, ""):
        return None
    if (limit := whole(str(value))) is None:
        raise invalid(f"Invalid value for maximumBytesBilled: {value!r}")
    return limit or None


def request_of(project: str, query: Document) -> Request:
    """Return what a query's configuration asks for. Raises Problem."""
    text = query.get("query")
    if not isinstance(text, str) or not text.strip():
        raise missing_parameter("query")
    if query.get("useLegacySql") is True:
        raise not_implemented("legacy SQL: set useLegacySql to false (bq: --nouse_legacy_sql)")
    for key in UNKNOWN:
        if query.get(key):
            raise not_implemented(f"{key} of a query")
    if _LEGACY.match(text):
        raise not_implemented("legacy SQL: #legacySQL in a query")
    default = inner(query, "defaultDataset")
    given = inner(query, "destinationTable")
    destination = target_of(project, given) if given.get("tableId") else None
    return Request(
        project=project,
        query=text,
        dataset=str(default.get("datasetId") or ""),
        dataset_project=str(default.get("projectId") or ""),
        parameters=query.get("queryParameters") or [],
        destination=destination,
        write=str(query.get("writeDisposition") or "WRITE_EMPTY"),
        most_billed=_bytes(query.get("maximumBytesBilled")),
        create=str(query.get("createDisposition") or "CREATE_IF_NEEDED"),
    )
