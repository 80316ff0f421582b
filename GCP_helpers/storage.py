"""Files into the session's bucket, and results out of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from GCP_helpers.session import Session, current_session, refusals
from lesson.services.uploads import HowFar, name_objects

if TYPE_CHECKING:
    import google.cloud.storage as storage

CHUNK = 8 * 2**20  # bytes: up to here the SDK sends a file at once; a larger one can be followed


def upload(*files: str | Path, prefix: str = "") -> list[str]:
    """Upload files to the session's bucket, below `prefix`; returns their gs:// URIs.

    An object of the same name is replaced. Raises LessonError for a file that is not there, and
    for two of the same name.
    """
    session = current_session()
    named = name_objects(files, prefix)
    bucket = session.storage.bucket(session.bucket)
    for path, name in named:
        blob = bucket.blob(name)
        with refusals(f"uploading {path}"):
            send(blob, path)
    return [f"{session.uri}/{name}" for _, name in named]


def send(blob: storage.Blob, path: Path) -> None:
    """Send one file; a larger one in chunks, so that it can be followed."""
    size = path.stat().st_size
    if size <= CHUNK:
        blob.upload_from_filename(str(path))
        return
    blob.chunk_size = CHUNK
    with _Followed(path) as file:
        blob.upload_from_file(file, size=size)
    file.how_far.finish()


class _Followed(io.FileIO):
    """A file that says now and then how much of it has been read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.how_far = HowFar(path)

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.how_far.at(self.tell())
        return data


def split(uri: str) -> tuple[str, str]:
    """Return the bucket and the name in a gs:// URI."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    return bucket, name


def read_text(session: Session, uri: str) -> str | None:
    """Return the text of an object; None if it is not there (yet)."""
    from google.api_core.exceptions import NotFound

    bucket, name = split(uri)
    try:
        text: str = session.storage.bucket(bucket).blob(name).download_as_text()
    except NotFound:
        return None
    return text


def fetch(uri: str, folder: Path) -> Path:
    """Copy the files at a URI (not those in folders below it) into a folder, and return that."""
    return download(current_session(), uri, folder)


def download(session: Session, uri: str, folder: Path) -> Path:
    """Copy the files at a URI into a folder, as fetch() does."""
    bucket, prefix = split(uri.rstrip("/") + "/")
    folder.mkdir(parents=True, exist_ok=True)
    with refusals(f"fetching {uri}"):
        for blob in session.storage.list_blobs(bucket, prefix=prefix, delimiter="/"):
            if name := blob.name.removeprefix(prefix):
                blob.download_to_filename(str(folder / name))
    return folder
