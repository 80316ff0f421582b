"""Jobs: on record when they are acknowledged, run in threads, four at a time."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Container, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from local_cloud.billing import query_records
from local_cloud.billing.query_records import Query
from local_cloud.google.bigquery.api.errors import LOCATION, Problem, duplicate, invalid
from local_cloud.google.bigquery.catalog.catalog import (
    HIDDEN,
    Catalog,
    Document,
    Name,
    now,
    now_after,
)
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.duckdb.database import Database
from local_cloud.google.bigquery.duckdb.foreign_errors import explain
from local_cloud.google.bigquery.duckdb.query_client import ProcessEnded
from local_cloud.store import readable
from local_cloud.store.records import NOT_WRITTEN, Records

KIND = "bigquery/job"
AT_ONCE = 4
RETRY = 0.5  # seconds before what could not be written is written again
STUBBORN = 10.0  # seconds after which a cancelled statement is ended with its process
KEPT = 24 * 3600 * 1000  # milliseconds, as long as BigQuery keeps results without a destination
_ID = re.compile(r"[A-Za-z0-9_-]{1,1024}")

# Runs the job of this document, in a thread, on a cursor of its own.
Handler = Callable[[Cursor, Document], Outcome]


class Jobs:
    """Those of all projects."""

    def __init__(self, records: Records, database: Database, catalog: Catalog) -> None:
        """Fail the jobs that a stop of the server cut short."""
        self._records, self._database, self._catalog = records, database, catalog
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="bigquery")
        self._running: dict[str, Future[None]] = {}
        self._cursors: dict[str, Cursor] = {}
        self._cancelled: set[str] = set()
        self._lock = threading.Lock()
        self._unrecorded: dict[str, Document] = {}  # failed jobs, on a full disk
        self._closing = threading.Event()
        self._looked = -3600.0  # for results to remove
        self._end_unfinished()

    def create(
        self,
        project: str,
        configuration: Document,
        reference: Document,
        *,
        user: str,
        handler: Handler,
    ) -> Document:
        """Put a job on record and have it run; returns its document. Raises Problem."""
        job = reference.get("jobId") or f"job_{secrets.token_urlsafe(20)}"
        if not _ID.fullmatch(str(job)):
            raise invalid(f"Invalid job ID {job!r}")
        document = job_document(project, job, configuration, user=user)
        name = f"{project}/{job}"
        with self._records.transaction():
            if self._records.get(KIND, name):
                raise duplicate("Job", f"{project}:{LOCATION}.{job}")
            self._records.put(KIND, name, document)
        with self._lock:
            self._running[name] = self._threads.submit(self._run, name, document, handler)
        return document

    def get(self, project: str, job: str) -> Document:
        """Return the document. Raises Problem if there is none."""
        name = f"{project}/{job}"
        document = self._unrecorded.get(name) or self._records.get(KIND, name)
        if document is None:
            message = f"Not found: Job {project}:{job}"
            raise Problem(404, "notFound", message)
        return document

    def list(self, project: str, states: Container[str] = ()) -> list[str]:
        """Return the names of the records of a project's jobs, the newest first.

        states: of which they are, if any is named. A job's query may have a megabyte, so memory
        holds the names alone.
        """

        def facts(name: str, document: Document) -> tuple[int, str, str]:
            known = self._unrecorded.get(name, document)
            return -int(known["statistics"]["creationTime"]), known["status"]["state"], name

        recorded = readable.each(KIND, self._records.list(KIND, f"{project}/"), facts)
        chosen = [(when, name) for when, state, name in recorded if not states or state in states]
        return [name for _, name in sorted(chosen, key=lambda each: each[0])]

    def get_listed(self, name: str) -> Document | None:
        """Return a job by the name that list() gave; None if it has been deleted."""
        return self._unrecorded.get(name) or self._records.get(KIND, name)

    def find_running(self, project: str, job: str) -> Future[None] | None:
        """Return a future that ends when the job does; None if it has."""
        with self._lock:
            return self._running.get(f"{project}/{job}")

    def count(self) -> int:
        """Return how many have not ended."""
        with self._lock:
            return len(self._running)

    def cancel(self, project: str, job: str) -> Document:
        """Have it end soon; returns its document."""
        name = f"{project}/{job}"
        self._stop([name])
        return self.get(project, job)

    def check(self, document: Document) -> None:
        """Raise Problem if this job was cancelled."""
        reference = document["jobReference"]
        if f"{reference['projectId']}/{reference['jobId']}" in self._cancelled:
            raise _cancellation()

    def delete(self, project: str, job: str) -> None:
        """Remove it from the record."""
        self.get(project, job)
        self._records.delete(KIND, f"{project}/{job}")
        self._unrecorded.pop(f"{project}/{job}", None)

    def close(self) -> None:
        """End what runs."""
        self._closing.set()
        self._stop([*self._running])
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _stop(self, names: Iterable[str]) -> None:
        """Have these jobs end soon."""
        with self._lock:
            running = {name: self._running[name] for name in names if name in self._running}
            self._cancelled |= running.keys()
        for name, future in running.items():
            threading.Thread(target=self._interrupt, args=(name, future), daemon=True).start()

    def _interrupt(self, name: str, future: Future[None]) -> None:
        """Interrupt a job until it has ended: between two of its statements, that is not heard.

        DuckDB hears it between two parts of a statement, and one part may take for ever.
        """
        end = time.monotonic() + STUBBORN
        while not future.done():
            with self._lock:
                cursor = self._cursors.get(name)
            if cursor and time.monotonic() > end and cursor.busy:
                cursor.process.kill()
            elif cursor:
                cursor.interrupt()
            wait([future], timeout=0.05)

    def result(self, document: Document) -> Name:
        """Return the table for the rows of a query without a destination."""
        reference = document["jobReference"]
        return Name(reference["projectId"], HIDDEN, f"anon{secrets.token_hex(16)}")

    def _run(self, name: str, document: Document, handler: Handler) -> None:
        document["status"] = {"state": "RUNNING"}
        document["statistics"]["startTime"] = now()
        billed = None
        try:
            self._records.put(KIND, name, document)
            self._drop_old_results()
            try:
                outcome = self._attempt(name, document, handler)
            except ProcessEnded as problem:  # through somebody else's query, perhaps
                if problem.committing or name in self._cancelled:
                    raise
                outcome = self._attempt(name, document, handler)
            billed = self._finish(document, outcome)
        except Exception as problem:  # noqa: BLE001 - the job ends with it
            reason = _cancellation() if name in self._cancelled else _reason(problem)
            document["status"] = {"errorResult": reason.entry(), "errors": [reason.entry()]}
        document["status"] = document.get("status", {}) | {"state": "DONE"}
        document["statistics"]["endTime"] = now_after(document["statistics"])
        self._record_end(name, document, billed)
        with self._lock:
            self._running.pop(name, None)
            self._cancelled.discard(name)

    def _attempt(self, name: str, document: Document, handler: Handler) -> Outcome:
        with self._database.cursor() as cursor:
            with self._lock:
                self._cursors[name] = cursor
            try:
                if name in self._cancelled:
                    raise _cancellation()
                return handler(cursor, document)
            finally:
                with self._lock:
                    self._cursors.pop(name, None)

    def _record_end(self, name: str, document: Document, billed: Query | None) -> None:
        """Put the end on record and on the bill.

        On a full disk that is done when there is room, and until then the job runs: nobody
        is told of what a killed server would have forgotten. It would not know either why a job has
        failed, but that it has: this may be told before.
        """
        while True:
            try:
                with self._records.transaction():
                    self._records.put(KIND, name, document)
                    if billed:
                        query_records.note(self._records, billed)
                return
            except NOT_WRITTEN:
                if "errorResult" in document["status"]:
                    self._unrecorded[name] = document
                    return
                if self._closing.wait(RETRY):
                    return

    def _finish(self, document: Document, outcome: Outcome) -> Query | None:
        """Put into the document what came of the job; returns what the bill gets."""
        kind = document["configuration"]["jobType"].lower()
        document["statistics"][kind] = outcome.statistics
        if processed := outcome.statistics.get("totalBytesProcessed"):
            document["statistics"]["totalBytesProcessed"] = processed
        if kind == "query" and outcome.destination:
            reference = outcome.destination.reference()
            document["configuration"]["query"]["destinationTable"] = reference
        billed = int(outcome.statistics.get("totalBytesBilled", 0))
        if not billed:
            return None
        job = document["jobReference"]["jobId"]
        return Query(job, time.time(), int(processed or 0), billed, outcome.billed_as)

    def _end_unfinished(self) -> None:
        stopped = Problem(503, "stopped", "the local cloud was stopped while the job ran")
        for name, document in list(self._records.list(KIND)):
            with self._records.name_record_in_errors(KIND, name):
                unfinished = document["status"]["state"] != "DONE"
            if unfinished:
                status = {"errorResult": stopped.entry(), "errors": [stopped.entry()]}
                document["status"] = status | {"state": "DONE"}
                document["statistics"]["endTime"] = now_after(document["statistics"])
                self._records.put(KIND, name, document)

    def _drop_old_results(self) -> None:
        """Remove results that are older than a day, every hour."""
        with self._lock:
            if time.monotonic() - self._looked < 3600:
                return
            self._looked = time.monotonic()
        oldest = int(now()) - KEPT
        rows = self._database.rows(
            "SELECT DISTINCT project FROM catalog.item WHERE dataset = ?", HIDDEN
        )
        for (project,) in rows:
            for name, document in self._catalog.items(project, HIDDEN):
                if int(document["creationTime"]) < oldest:
                    with self._database.transaction() as cursor:
                        self._catalog.drop(cursor, name)


def job_document(project: str, job: str, configuration: Document, *, user: str) -> Document:
    """Return a new job's resource."""
    return {
        "kind": "bigquery#job",
        "id": f"{project}:{LOCATION}.{job}",
        "jobReference": {"projectId": project, "jobId": job, "location": LOCATION},
        "configuration": configuration,
        "status": {"state": "PENDING"},
        "statistics": {"creationTime": now(), "startTime": now()},
        "user_email": user,
        "etag": str(time.time_ns()),
    }


def _cancellation() -> Problem:
    return Problem(499, "stopped", "Job execution was cancelled: User requested cancellation")


def _reason(problem: Exception) -> Problem:
    """Say why a job has failed."""
    if isinstance(problem, ProcessEnded):
        what = f"{problem}: it may have exceeded its memory limit, or somebody killed it"
        left = "Nothing was changed. Use fewer rows or columns, or send the job again"
        if problem.committing:
            left = "Check whether the job's changes are there before you send it again"
        return Problem(400, "resourcesExceeded", f"{what}. {left}")
    return explain(problem)
