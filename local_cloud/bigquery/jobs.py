"""Jobs: on record when they are acknowledged, run in threads, four at a time."""

from __future__ import annotations

import contextlib
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from local_cloud import billed_queries
from local_cloud.bigquery.catalog import HIDDEN, Catalog, Document, Name, now, now_after
from local_cloud.bigquery.database import Database
from local_cloud.bigquery.errors import LOCATION, Problem, duplicate, invalid, mistake
from local_cloud.bigquery.outcome import Cursor, Outcome
from local_cloud.billed_queries import Query
from local_cloud.store.errors import NoSpace, NoSuchBucket, NoSuchObject, StoreError
from local_cloud.store.records import Records

KIND = "bigquery/job"
AT_ONCE = 4
KEPT = 24 * 3600 * 1000  # milliseconds, as long as BigQuery keeps results without a destination
_ID = re.compile(r"[A-Za-z0-9_-]{1,1024}")

# Runs the job of this document, in a thread, on a cursor of its own.
Handler = Callable[[Cursor, Document], Outcome]


class Jobs:
    """Those of all projects."""

    def __init__(self, records: Records, database: Database, catalog: Catalog) -> None:
        """Jobs that a stop of the server cut short have failed."""
        self._records, self._database, self._catalog = records, database, catalog
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="bigquery")
        self._running: dict[str, Future[None]] = {}
        self._cursors: dict[str, Cursor] = {}
        self._cancelled: set[str] = set()
        self._lock = threading.Lock()
        self._looked = -3600.0  # for results to remove
        self._end_unfinished()

    def new(
        self,
        project: str,
        configuration: Document,
        reference: Document,
        user: str,
        handler: Handler,
    ) -> Document:
        """Put a job on record and have it run; returns its document. Raises Problem."""
        job = reference.get("jobId") or f"job_{secrets.token_urlsafe(20)}"
        if not _ID.fullmatch(str(job)):
            raise invalid(f"Invalid job ID {job!r}")
        document = job_document(project, job, configuration, user)
        name = f"{project}/{job}"
        with self._records.transaction():
            if self._records.get(KIND, name):
                raise duplicate("Job", f"{project}:{LOCATION}.{job}")
            self._records.put(KIND, name, document)
        with self._lock:
            self._running[name] = self._threads.submit(self._run, name, document, handler)
        return document

    def get(self, project: str, job: str) -> Document:
        """The document. Raises Problem if there is none."""
        found = self._records.get(KIND, f"{project}/{job}")
        if found is None:
            message = f"Not found: Job {project}:{job}"
            raise Problem(404, "notFound", message)
        return found

    def list(self, project: str) -> list[Document]:
        """A project's, the newest first."""
        found = [document for _, document in self._records.list(KIND, f"{project}/")]
        return sorted(found, key=lambda one: -int(one["statistics"]["creationTime"]))

    def running(self, project: str, job: str) -> Future[None] | None:
        """What ends when the job does; None if it has."""
        with self._lock:
            return self._running.get(f"{project}/{job}")

    def cancel(self, project: str, job: str) -> Document:
        """Have it end soon; returns its document."""
        name = f"{project}/{job}"
        self._stop([name])
        return self.get(project, job)

    def check(self, document: Document) -> None:
        """Raise Problem if this job was cancelled."""
        reference = document["jobReference"]
        if f"{reference['projectId']}/{reference['jobId']}" in self._cancelled:
            raise _stopped()

    def delete(self, project: str, job: str) -> None:
        """Remove it from the record."""
        self.get(project, job)
        self._records.delete(KIND, f"{project}/{job}")

    def close(self) -> None:
        """End what runs."""
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
        """Interrupt a job until it has ended: between two of its statements, that is not heard."""
        while not future.done():
            with self._lock, contextlib.suppress(Exception):  # the cursor may be closed just now
                if cursor := self._cursors.get(name):
                    cursor.interrupt()
            wait([future], timeout=0.05)

    def result(self, document: Document) -> Name:
        """The table for the rows of a query without a destination."""
        reference = document["jobReference"]
        return Name(reference["projectId"], HIDDEN, f"anon{secrets.token_hex(16)}")

    def _run(self, name: str, document: Document, handler: Handler) -> None:
        document["status"] = {"state": "RUNNING"}
        document["statistics"]["startTime"] = now()
        self._records.put(KIND, name, document)
        try:
            self._drop_old_results()
            with self._database.cursor() as cursor:
                with self._lock:
                    self._cursors[name] = cursor
                if name in self._cancelled:
                    raise _stopped()
                self._finish(document, handler(cursor, document))
        except Exception as problem:  # noqa: BLE001 - the job ends with it
            known = _stopped() if name in self._cancelled else _known(problem)
            document["status"] = {"errorResult": known.entry(), "errors": [known.entry()]}
        document["status"] = document.get("status", {}) | {"state": "DONE"}
        document["statistics"]["endTime"] = now_after(document["statistics"])
        with contextlib.suppress(Exception):  # a full disk: the job is then as unfinished as it is
            self._records.put(KIND, name, document)
        with self._lock:
            self._cursors.pop(name, None)
            self._running.pop(name, None)
            self._cancelled.discard(name)

    def _finish(self, document: Document, outcome: Outcome) -> None:
        kind = document["configuration"]["jobType"].lower()
        document["statistics"][kind] = outcome.statistics
        if processed := outcome.statistics.get("totalBytesProcessed"):
            document["statistics"]["totalBytesProcessed"] = processed
        if billed := int(outcome.statistics.get("totalBytesBilled", 0)):
            name = document["jobReference"]["jobId"]
            query = Query(name, time.time(), int(processed or 0), billed, outcome.billed_as)
            billed_queries.note(self._records, query)
        if kind == "query" and outcome.destination:
            reference = outcome.destination.reference()
            document["configuration"]["query"]["destinationTable"] = reference

    def _end_unfinished(self) -> None:
        stopped = Problem(503, "stopped", "the local cloud was stopped while the job ran")
        for name, document in list(self._records.list(KIND)):
            with self._records.understood(KIND, name):
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


def job_document(project: str, job: str, configuration: Document, user: str) -> Document:
    """A new job's resource."""
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


def _stopped() -> Problem:
    return Problem(499, "stopped", "Job execution was cancelled: User requested cancellation")


def _known(problem: Exception) -> Problem:
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, NoSuchBucket | NoSuchObject):
        return Problem(404, "notFound", f"Not found: {problem}")
    if isinstance(problem, NoSpace):
        return Problem(507, "quotaExceeded", str(problem))
    if isinstance(problem, StoreError):
        return invalid(str(problem))
    if isinstance(problem, OSError):
        return Problem(507, "quotaExceeded", f"the disk of the local cloud refuses ({problem})")
    return mistake(problem)
