"""Uploads under way: what is to become of the bytes, and resumable sessions that are on disk."""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from local_cloud.google.gcs.call import Call, digest
from local_cloud.google.gcs.contents import DEFAULT_TYPE, check_name
from local_cloud.google.gcs.errors import Refusal, invalid
from local_cloud.google.gcs.resources import header, merge, object_settings
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects
from local_cloud.store.values import Attributes, Condition, Object

SESSIONS = "gcs/upload"
_LIFETIME = 7 * 24 * 3600  # seconds; cloud.google.com/storage/docs/resumable-uploads


@dataclass(frozen=True)
class Insert:
    """An object to be; digests are base64, as the client sent them, or ""."""

    bucket: str
    name: str
    content_type: str
    attributes: Attributes
    when: Condition
    md5: str
    crc32c: str

    @classmethod
    def of(cls, call: Call, metadata: Json, content_type: str) -> Insert:
        """Return what a request to insert an object asks for; content_type: of the media."""
        own, said = metadata.get("name") or "", call.query.get("name") or ""
        if own and said and own != said:
            raise invalid("the name in the metadata and the name in the URL differ")
        settings = merge({}, object_settings(metadata))
        if encoding := call.query.get("contentEncoding"):
            settings.setdefault("contentEncoding", header("contentEncoding", encoding))
        hashes = read_digests(call)
        return cls(
            bucket=call.path("bucket"),
            name=check_name(own or said),
            content_type=header(
                "contentType", metadata.get("contentType") or content_type or DEFAULT_TYPE
            ),
            attributes=settings,
            when=call.condition(),
            md5=str(metadata.get("md5Hash") or hashes.get("md5", "")),
            crc32c=str(metadata.get("crc32c") or hashes.get("crc32c", "")),
        )

    def put(self, objects: Objects, body: Path, hashes: dict[str, str] | None = None) -> Object:
        """Make the object of these bytes; hashes: announced later, with the last of them."""
        hashes = hashes or {}
        return objects.put(
            self.bucket,
            self.name,
            body,
            content_type=self.content_type,
            attributes=self.attributes,
            when=self.when,
            md5=digest("md5Hash", hashes.get("md5") or self.md5, 16),
            crc32c=digest("crc32c", hashes.get("crc32c") or self.crc32c, 4),
        )


def read_digests(call: Call) -> dict[str, str]:
    """Return the digests in the header X-Goog-Hash, by their names."""
    pairs = (part.strip().partition("=") for part in call.headers.get("x-goog-hash", "").split(","))
    return {name: value for name, _, value in pairs}


@dataclass
class Session:
    """A resumable upload; its bytes so far are in the file at path."""

    id: str
    insert: Insert
    path: Path | None
    resource: Json | None = None  # of the object, once the upload is complete

    @property
    def bytes_received(self) -> int:
        """Return how many bytes there are."""
        return self.path.stat().st_size if self.path else 0


class Sessions:
    """Resumable uploads in the store's records and files, so that a restart loses none."""

    def __init__(self, objects: Objects) -> None:
        """Forget the sessions that have expired."""
        self._objects, self._records = objects, objects.records
        for upload, document in self._records.list(SESSIONS):
            with self._records.name_record_in_errors(SESSIONS, upload):
                expired = time.time() - document["started"] > _LIFETIME
            if expired:
                self.forget(upload)

    def start(self, insert: Insert) -> Session:
        """Start a session. Raises NoSuchBucket."""
        self._objects.bucket(insert.bucket)
        upload = secrets.token_hex(32)
        path = self._objects.upload_file(keep=upload)
        self._records.put(SESSIONS, upload, {"started": time.time(), "insert": asdict(insert)})
        return Session(upload, insert, path)

    def get(self, upload: str) -> Session:
        """Return the session. Raises Refusal where there is none."""
        document = self._records.get(SESSIONS, upload)
        if document is None:
            raise Refusal(404, "notFound", "there is no such upload; start it again")
        session = Session(upload, _insert(document["insert"]), self._objects.find_kept(upload))
        session.resource = document.get("resource")
        if session.path is None and session.resource is None:  # a crash between file and record
            raise Refusal(410, "gone", "the upload has ended; look whether the object is there")
        return session

    def finish(self, session: Session, resource: Json) -> None:
        """Remember the outcome, for a client that asks again."""
        document = self._records.get(SESSIONS, session.id) or {}
        self._records.put(SESSIONS, session.id, document | {"resource": resource})

    def forget(self, upload: str) -> None:
        """Remove the session and its bytes."""
        path = self._objects.find_kept(upload)
        if path:
            path.unlink()
        self._records.delete(SESSIONS, upload)


def _insert(document: dict[str, Any]) -> Insert:
    return Insert(**document | {"when": Condition(**document["when"])})
