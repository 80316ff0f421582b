"""Files into the session's bucket, and results out of it."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import Any

from AWS_helpers.session import Session, current_session, refusals
from lesson import LessonError
from lesson.services.uploads import HowFar, name_objects

CHUNK = 8 * 2**20  # bytes: up to here the SDK sends a file at once; a larger one can be followed
ARCHIVE = "model.tar.gz"  # SageMaker packs what a job leaves in its model folder into this


def upload(*files: str | Path, prefix: str = "") -> list[str]:
    """Upload files to the session's bucket, below `prefix`; returns their s3:// URIs.

    An object of the same name is replaced. Raises LessonError for a file that is not there, and
    for two of the same name.
    """
    session = current_session()
    named = name_objects(files, prefix)
    for path, name in named:
        with refusals(f"uploading {path}"):
            send(session, path, name)
    return [f"{session.uri}/{name}" for _, name in named]


def send(session: Session, path: Path, name: str) -> None:
    """Send one file to the session's bucket; a larger one goes in parts, and can be followed."""
    s3 = session.client("s3")
    if path.stat().st_size <= CHUNK:
        s3.upload_file(str(path), session.bucket, name)
        return
    followed = _Followed(path)
    s3.upload_file(str(path), session.bucket, name, Callback=followed)
    followed.finish()


class _Followed(HowFar):
    """What the SDK calls with the number of bytes that it has just sent."""

    sent = 0

    def __call__(self, more: int) -> None:
        self.sent += more
        self.at(self.sent)


def split(uri: str) -> tuple[str, str]:
    """Return the bucket and the name in an s3:// URI."""
    bucket, _, name = uri.removeprefix("s3://").partition("/")
    return bucket, name


def read_text(session: Session, uri: str) -> str | None:
    """Return the text of an object; None if it is not there (yet)."""
    bucket, name = split(uri)
    s3 = session.client("s3")
    try:
        answer = s3.get_object(Bucket=bucket, Key=name)
    except s3.exceptions.NoSuchKey:
        return None
    text: str = answer["Body"].read().decode("utf-8")
    return text


def fetch(uri: str, folder: Path) -> Path:
    """Copy the files at a URI (not those in folders below it) into a folder.

    Of a model.tar.gz, what is in it. Raises LessonError for an archive that cannot be unpacked.
    """
    return download(current_session(), uri, folder)


def download(session: Session, uri: str, folder: Path) -> Path:
    """Copy the files at a URI into a folder, as fetch() does."""
    folder.mkdir(parents=True, exist_ok=True)
    s3 = session.client("s3")
    with refusals(f"fetching {uri}"):
        if uri.endswith(f"/{ARCHIVE}"):
            return _unpack(s3, uri, folder)
        bucket, prefix = split(uri.rstrip("/") + "/")
        pages = s3.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=bucket, Prefix=prefix, Delimiter="/"):
            for listed in page.get("Contents", []):
                if name := listed["Key"].removeprefix(prefix):
                    s3.download_file(bucket, listed["Key"], str(folder / name))
    return folder


def _unpack(s3: Any, uri: str, folder: Path) -> Path:
    bucket, name = split(uri)
    with tempfile.TemporaryDirectory() as scratch:
        packed = Path(scratch, ARCHIVE)
        s3.download_file(bucket, name, str(packed))
        try:
            with tarfile.open(packed) as archive:
                _extract(archive, folder.resolve())
        except (tarfile.TarError, OSError, EOFError, zlib.error) as problem:
            raise LessonError(f"{uri} cannot be unpacked: {problem}") from None
    return folder


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive into a folder, and nothing outside it; links are left out.

    The standard library's filter="data" does this, too, but only from Python 3.11.4 on.
    """
    for member in archive:
        path = (folder / member.name).resolve()
        if not path.is_relative_to(folder):
            raise tarfile.ExtractError(f"{member.name} would be outside the folder")
        content = archive.extractfile(member) if member.isfile() else None
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with content, path.open("wb") as file:
                shutil.copyfileobj(content, file)
