"""Files into the session's bucket, and results out of it."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from GCP_helpers.session import client, connected, refusals
from lesson import LessonError

if TYPE_CHECKING:
    import google.cloud.storage as storage

CHUNK = 8 * 2**20  # bytes: up to here the SDK sends a file at once; a larger one can be followed
QUIET = 2.0  # seconds after which an upload begins to say how far it is


def upload(*files: str | Path, prefix: str = "") -> list[str]:
    """Upload files to the session's bucket, below `prefix`; returns their gs:// addresses.

    An object of the same name is replaced. Raises LessonError for a file that is not there, and
    for two of the same name.
    """
    session = connected()
    paths = [Path(file) for file in files]
    for path in paths:
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "is not there"
            raise LessonError(f"{path} {what}; name files that exist, seen from {Path.cwd()}")
    bucket = client().bucket(session.bucket)
    names = [f"{prefix.strip('/')}/{path.name}".lstrip("/") for path in paths]
    if len(set(names)) < len(names):
        raise LessonError(f"two files would both become {max(names, key=names.count)}; rename one")
    for path, name in zip(paths, names, strict=True):
        blob = bucket.blob(name)
        with refusals(f"uploading {path}"):
            _send(blob, path)
    return [f"{session.address}/{name}" for name in names]


def _send(blob: storage.Blob, path: Path) -> None:
    """Send one file; a larger one in chunks, so that it can be followed."""
    size = path.stat().st_size
    if size <= CHUNK:
        blob.upload_from_filename(str(path))
        return
    blob.chunk_size = CHUNK
    with _Followed(path) as file:
        blob.upload_from_file(file, size=size)
    print(f"uploaded {path.name}", file=sys.stderr)


class _Followed(io.FileIO):
    """A file that says now and then how much of it has been read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path, self._said = path, time.monotonic()

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if time.monotonic() - self._said > QUIET:
            self._said = time.monotonic()
            share = self.tell() / self._path.stat().st_size
            print(f"uploading {self._path.name}: {share:.0%}", file=sys.stderr, flush=True)
        return data


def split(address: str) -> tuple[str, str]:
    """The bucket and the name in a gs:// address."""
    bucket, _, name = address.removeprefix("gs://").partition("/")
    return bucket, name


def read_text(address: str) -> str | None:
    """The text of an object; None if it is not there (yet)."""
    from google.api_core.exceptions import NotFound

    bucket, name = split(address)
    try:
        text: str = client().bucket(bucket).blob(name).download_as_text()
    except NotFound:
        return None
    return text


def fetch(address: str, folder: Path) -> Path:
    """Copy the files that lie at an address (not those in folders below it) into a folder."""
    bucket, prefix = split(address.rstrip("/") + "/")
    folder.mkdir(parents=True, exist_ok=True)
    with refusals(f"fetching {address}"):
        for blob in client().list_blobs(bucket, prefix=prefix, delimiter="/"):
            if name := blob.name.removeprefix(prefix):
                blob.download_to_filename(str(folder / name))
    return folder
