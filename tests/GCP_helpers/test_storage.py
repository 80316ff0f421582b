"""Files into the bucket, and out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from GCP_helpers import storage, upload
from GCP_helpers.session import Session
from lesson import LessonError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some data.bin"
    path.write_bytes(bytes(range(256)) * 4096)  # 1 MiB
    return path


def test_files_are_uploaded_under_their_names_and_come_back_whole(
    connection: Session, file: Path, tmp_path: Path
) -> None:
    assert upload(file) == [f"{connection.uri}/some data.bin"]
    assert upload(str(file), prefix="/a/b/") == [f"{connection.uri}/a/b/some data.bin"]
    folder = storage.fetch(f"{connection.uri}/a/b", tmp_path / "back")
    assert (folder / file.name).read_bytes() == file.read_bytes()


def test_a_large_file_goes_in_chunks_and_says_how_far_it_is(
    connection: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("lesson.uploads.QUIET", 0.0)
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(range(256)) * 2**16)  # 16 MiB
    upload(file, prefix="chunks")
    said = capsys.readouterr().err
    assert "uploading large.bin: 50%\n" in said and said.endswith("uploaded large.bin\n")
    folder = storage.fetch(f"{connection.uri}/chunks", tmp_path / "back")
    assert (folder / file.name).read_bytes() == file.read_bytes()


def test_an_object_that_is_not_there_has_no_text(connection: Session) -> None:
    assert storage.read_text(f"{connection.uri}/nothing") is None


def test_a_file_that_is_not_there_is_named(connection: Session, tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=r"^nothing.npz is not there; name files that exist"):
        upload("nothing.npz")
    with pytest.raises(LessonError, match="is a folder"):
        upload(tmp_path)


def test_two_files_of_one_name_are_refused(connection: Session, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / file.name
    other.parent.mkdir()
    other.write_text("something else")
    with pytest.raises(LessonError, match=r"two files would both become some data\.bin; rename"):
        upload(file, other)
