"""Uploads: in one go (media, multipart) and resumable, in chunks. Bodies go to disk as they come.

How resumable uploads talk: cloud.google.com/storage/docs/performing-resumable-uploads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from weakref import WeakValueDictionary

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from local_cloud.google.content_range import Chunk, chunk
from local_cloud.google.gcs.call import API, Call
from local_cloud.google.gcs.errors import Refusal, invalid
from local_cloud.google.gcs.model import Insert, Session, Sessions, read_digests
from local_cloud.google.gcs.resources import object_resource
from local_cloud.google.multipart import Related
from local_cloud.google.rest import parse_json
from local_cloud.store import files
from local_cloud.store.errors import NoSpace, StoreError
from local_cloud.store.objects import Objects

Chunks = AsyncIterator[bytes]
_LARGEST_METADATA = 1 << 20  # bytes


class Uploads:
    """Handlers of /upload/…/b/{bucket}/o."""

    def __init__(self, objects: Objects) -> None:
        """Store what is uploaded in this store."""
        self._objects = objects
        self._sessions = Sessions(objects)
        self._method = API.method("POST", "/storage/v1/b/{bucket}/o")
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def insert(self, call: Call, chunks: Chunks) -> Response:
        """POST ?uploadType=media|multipart|resumable"""
        self._method.check_query(call.request.query_params.multi_items())
        match call.query.get("uploadType"):
            case "media":
                content_type = call.headers.get("content-type", "")
                return await self._store(
                    call,
                    chunks,
                    lambda part: part,
                    insert=lambda: Insert.of(call, {}, content_type),
                )
            case "multipart":
                return await self._multipart(call, chunks)
            case "resumable" if "upload_id" in call.query:
                return await self.resume(call, chunks)
            case "resumable":
                return await self._start(call, chunks)
            case other:
                raise invalid(f"Invalid value for uploadType: {other!r}")

    async def resume(self, call: Call, chunks: Chunks) -> Response:
        """PUT ?upload_id=…: a chunk, or a question for the state."""
        upload = call.query.get("upload_id", "")
        async with self._locks.setdefault(
            upload, anyio.Lock()
        ):  # an earlier try may still be at work
            session = await run_in_threadpool(self._sessions.get, upload)
            if session.resource is not None:
                async for _ in chunks:
                    pass
                return JSONResponse(session.resource)
            part = _chunk(call)
            if part.start is not None:
                try:
                    await self._append(session, part.start, chunks)
                except (OSError, NoSpace):  # nobody goes on, and the room is needed
                    await run_in_threadpool(self._sessions.forget, upload)
                    raise
            received = session.bytes_received
            total = part.total if "content-range" in call.headers else received
            if total is None or received < total:
                return _incomplete(received)
            if received > total:
                raise invalid(f"{received} bytes have come, more than the {total} announced")
            return await run_in_threadpool(self._finish, call, session)

    async def cancel(self, call: Call, _: Chunks) -> Response:
        """DELETE ?upload_id=…; 499 is the service's answer to it."""
        upload = call.query.get("upload_id", "")
        async with self._locks.setdefault(upload, anyio.Lock()):
            await run_in_threadpool(self._sessions.get, upload)
            await run_in_threadpool(self._sessions.forget, upload)
        return Response(status_code=499)

    async def _multipart(self, call: Call, chunks: Chunks) -> Response:
        related = Related(call.headers.get("content-type", ""))

        def insert() -> Insert:
            related.finish()
            metadata = self._method.body(parse_json(related.metadata))
            return Insert.of(call, metadata, related.content_type)

        return await self._store(call, chunks, related.feed, insert=insert)

    async def _store(
        self,
        call: Call,
        chunks: Chunks,
        media: Callable[[bytes], bytes],
        *,
        insert: Callable[[], Insert],
    ) -> Response:
        """Write what `media` takes from the body to a file; then what it is for is known."""
        body = await run_in_threadpool(self._objects.upload_file)
        try:
            with self._objects.space.open(body) as file:
                async for part in chunks:
                    await run_in_threadpool(file.write, media(part))
            made = await run_in_threadpool(insert().put, self._objects, body)
        finally:
            body.unlink(missing_ok=True)
        return JSONResponse(object_resource(made, call.base))

    async def _start(self, call: Call, chunks: Chunks) -> Response:
        content = b""
        async for part in chunks:
            content += part
            if len(content) > _LARGEST_METADATA:
                raise Refusal(413, "uploadTooLarge", "the metadata are too large")
        content_type = call.headers.get("x-upload-content-type", "")
        metadata = self._method.body(parse_json(content))
        insert = Insert.of(call, metadata, content_type)
        session = await run_in_threadpool(self._sessions.start, insert)
        address = f"{call.base}/upload/storage/v1/b/{insert.bucket}/o"
        location = f"{address}?uploadType=resumable&upload_id={session.id}"
        return Response(headers={"location": location, "x-guploader-uploadid": session.id})

    async def _append(self, session: Session, start: int, chunks: Chunks) -> None:
        """Add a chunk's bytes, without those that are there; what has come before a break stays."""
        known = session.bytes_received - start
        if known < 0:
            raise invalid(
                "Invalid request.  According to the Content-Range header, the upload offset is"
                f" {start} byte(s), which exceeds already uploaded size of {session.bytes_received}"
                " byte(s)."
            )
        assert session.path
        with self._objects.space.open(session.path, "ab") as file:
            async for part in chunks:
                await run_in_threadpool(file.write, part[known:])
                known = max(known - len(part), 0)
        await run_in_threadpool(files.sync, session.path)

    def _finish(self, call: Call, session: Session) -> Response:
        assert session.path
        try:
            made = session.insert.put(self._objects, session.path, read_digests(call))
        except (StoreError, Refusal):
            self._sessions.forget(session.id)
            raise
        resource = object_resource(made, call.base)
        self._sessions.finish(session, resource)
        return JSONResponse(resource)


def _chunk(call: Call) -> Chunk:
    """Return the chunk that the request brings; without Content-Range it is the whole body."""
    text = call.headers.get("content-range")
    part = Chunk(0, None) if text is None else chunk(text)
    if part is None:
        raise invalid(f"Failed to parse Content-Range header: {text!r}")
    return part


def _incomplete(received: int) -> Response:
    headers = {"range": f"bytes=0-{received - 1}"} if received else {}
    return Response(status_code=308, headers=headers)
