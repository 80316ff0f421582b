"""The archive in which SageMaker stores a model."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from AWS_helpers import storage
from AWS_helpers.session import Session, client
from lesson import LessonError


def packed(names: dict[str, bytes]) -> io.BytesIO:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data in names.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    content.seek(0)
    return content


def test_of_a_models_archive_the_files_in_it_are_fetched(
    connection: Session, tmp_path: Path
) -> None:
    client("s3").upload_fileobj(
        packed({"a.txt": b"a", "b/c.txt": b"c"}), "lesson", "m/model.tar.gz"
    )
    folder = storage.fetch("s3://lesson/m/model.tar.gz", tmp_path / "back")
    assert (folder / "a.txt").read_text() == "a" and (folder / "b/c.txt").read_text() == "c"


def test_an_archive_that_would_write_elsewhere_is_refused(
    connection: Session, tmp_path: Path
) -> None:
    client("s3").upload_fileobj(packed({"../out.txt": b"x"}), "lesson", "bad/model.tar.gz")
    with pytest.raises(LessonError, match=r"^s3://lesson/bad/model.tar.gz cannot be unpacked: "):
        storage.fetch("s3://lesson/bad/model.tar.gz", tmp_path / "back")
    assert not (tmp_path / "out.txt").exists()


def test_links_in_an_archive_are_left_out(connection: Session, tmp_path: Path) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("link/file.txt"))
    content.seek(0)
    client("s3").upload_fileobj(content, "lesson", "links/model.tar.gz")
    folder = storage.fetch("s3://lesson/links/model.tar.gz", tmp_path / "back")
    assert not (folder / "link").is_symlink()
    assert not (tmp_path / "file.txt").exists()
