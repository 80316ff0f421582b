"""Files into the bucket, and out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lesson import LessonError
from tests.helpers.sides import Side


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some data.bin"
    path.write_bytes(bytes(range(256)) * 4096)  # 1 MiB
    return path


def test_files_are_uploaded_under_their_names_and_come_back_whole(
    side: Side, connection: Any, file: Path, tmp_path: Path
) -> None:
    upload = side.helpers.upload
    assert connection.uri == f"{side.scheme}://{connection.bucket}"
    assert upload(file) == [f"{connection.uri}/some data.bin"]
    assert upload(str(file), prefix="/a/b/") == [f"{connection.uri}/a/b/some data.bin"]
    folder = side.storage.fetch(f"{connection.uri}/a/b", tmp_path / "back")
    assert (folder / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("side", "percent"),
    [("Google", "50%"), ("Amazon", "100%")],  # sent in chunks of 8 MiB, and in parts
    indirect=["side"],
)
def test_a_large_file_goes_in_pieces_and_says_how_far_it_is(
    side: Side,
    percent: str,
    connection: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("lesson.services.uploads.QUIET", 0.0)
    file = tmp_path / "large.bin"
    file.write_bytes(bytes(range(256)) * 2**16)  # 16 MiB
    side.helpers.upload(file, prefix="pieces")
    said = capsys.readouterr().err
    assert f"uploading large.bin: {percent}\n" in said and said.endswith("uploaded large.bin\n")
    folder = side.storage.fetch(f"{connection.uri}/pieces", tmp_path / "back")
    assert (folder / file.name).read_bytes() == file.read_bytes()


def test_the_text_of_an_object_is_read(side: Side, connection: Any, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("naïve", encoding="utf-8")
    (uri,) = side.helpers.upload(tmp_path / "note.txt")
    assert side.storage.read_text(connection, uri) == "naïve"


def test_an_object_that_is_not_there_has_no_text(side: Side, connection: Any) -> None:
    assert side.storage.read_text(connection, f"{connection.uri}/nothing") is None


@pytest.mark.usefixtures("connection")
def test_a_file_that_is_not_there_is_named(side: Side, tmp_path: Path) -> None:
    with pytest.raises(LessonError, match=r"^nothing.npz is not there; name files that exist"):
        side.helpers.upload("nothing.npz")
    with pytest.raises(LessonError, match="is a folder"):
        side.helpers.upload(tmp_path)


@pytest.mark.usefixtures("connection")
def test_two_files_of_one_name_are_refused(side: Side, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / file.name
    other.parent.mkdir()
    other.write_text("something else")
    with pytest.raises(LessonError, match=r"two files would both become some data\.bin; rename"):
        side.helpers.upload(file, other)
