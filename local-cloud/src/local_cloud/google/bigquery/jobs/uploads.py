"""Files that come with a load job: in one body with its configuration, or in chunks."""

from __future__ import annotations

import json
import secrets
import time
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from local_cloud.google.bigquery.api.errors import Problem, invalid
from local_cloud.google.bigquery.catalog.catalog import Document
from local_cloud.google.bigquery.catalog.outcome import Cursor, Outcome
from local_cloud.google.bigquery.jobs.loads import Loads
from local_cloud.google.bigquery.jobs.queries import Queries
from local_cloud.google.bigquery.tables.call import API
from local_cloud.google.content_range import chunk
from local_cloud.google.multipart import Related
from local_cloud.google.rest import parse_json, read_json
from local_cloud.store.space import Space

LIFETIME = 7 * 24 * 3600  # seconds of an upload without a new byte, as in Cloud Storage


class Uploads:
    """Handlers of /upload/…/jobs."""

    def __init__(self, folder: Path, queries: Queries, loads: Loads, *, space: Space) -> None:
        """folder: where files are while they come."""
        self._folder, self._queries, self._loads, self._space = folder, queries, loads, space
        for file in folder.glob("*.data"):  # of load jobs that ended with an earlier server
            if (
                file.stat().st_mtime < time.time() - LIFETIME
                or not self._session_file(file.stem).exists()
            ):
                self._forget(file.stem)
        self.insert, self.resume = API.wrap(self._insert), API.wrap(self._resume)
        self._method = API.method("POST", "/bigquery/v2/projects/{project}/jobs")

    async def _insert(self, request: Request) -> Response:
        """POST ?uploadType=multipart|resumable"""
        project = request.path_params["project"]
        match request.query_params.get("uploadType"):
            case "multipart":
                return await self._multipart(project, request)
            case "resumable":
                body = self._method.body(await read_json(request))
                upload = secrets.token_hex(16)
                await run_in_threadpool(self._begin, upload, project, body)
                base = str(request.base_url).rstrip("/")
                path = f"/upload/bigquery/v2/projects/{project}/jobs"
                location = f"{base}{path}?uploadType=resumable&upload_id={upload}"
                return Response(headers={"location": location})
            case other:
                raise invalid(f"Invalid value for uploadType: {other!r}")

    def _begin(self, upload: str, project: str, body: Document) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file(upload).touch()
        self._session_file(upload).write_text(json.dumps([project, body]))

    def _file(self, upload: str) -> Path:
        return self._folder / f"{upload}.data"

    def _session_file(self, upload: str) -> Path:
        return self._folder / f"{upload}.json"

    def _forget(self, upload: str) -> None:
        self._session_file(upload).unlink(missing_ok=True)
        self._file(upload).unlink(missing_ok=True)

    async def _resume(self, request: Request) -> Response:
        """PUT ?upload_id=…: a chunk, or a question for the state."""
        upload = request.query_params.get("upload_id", "")
        known = self._session_file(upload)
        if not upload.isalnum() or not known.exists():
            raise Problem(404, "notFound", "there is no such upload; start it again")
        header = request.headers.get("content-range")
        part = chunk(header) if header else None
        if header and part is None:
            raise invalid(f"Failed to parse Content-Range header: {header!r}")
        file = self._file(upload)
        received = file.stat().st_size
        start = part.start if part else 0
        if start is not None:
            if start > received:
                raise invalid(f"the chunk begins at {start}, and {received} bytes have come")
            with self._space.open(file, "r+b") as opened:
                opened.seek(start)
                async for piece in request.stream():
                    await run_in_threadpool(opened.write, piece)
                opened.truncate()
                received = opened.tell()
        total = part.total if part else received
        if total is None or received < total:
            headers = {"range": f"bytes=0-{received - 1}"} if received else {}
            return Response(status_code=308, headers=headers)
        project, body = json.loads(known.read_text())
        try:
            document = await run_in_threadpool(self._start, project, body, file)
        except Problem as problem:
            if problem.code < 500:  # the job is refused: sent again, it would be again
                self._forget(upload)
            raise
        known.unlink(missing_ok=True)
        return JSONResponse(document)

    async def _multipart(self, project: str, request: Request) -> Response:
        upload = secrets.token_hex(16)
        await run_in_threadpool(self._begin, upload, project, {})
        file = self._file(upload)
        try:
            related = Related(request.headers.get("content-type", ""))
            with self._space.open(file) as opened:
                async for piece in request.stream():
                    await run_in_threadpool(opened.write, related.feed(piece))
            related.finish()
            body = self._method.body(parse_json(related.metadata))
            document = await run_in_threadpool(self._start, project, body, file)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        finally:
            self._session_file(upload).unlink(missing_ok=True)
        return JSONResponse(document)

    def _start(self, project: str, body: Document, file: Path) -> Document:
        """Have the file loaded; it is removed then."""

        def media(cursor: Cursor, document: Document) -> Outcome:
            try:
                return self._loads.load(cursor, document, [file])
            finally:
                file.unlink(missing_ok=True)

        return self._queries.start(project, body, media)
