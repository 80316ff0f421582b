"""Which file becomes which object, and what is said of a large one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lesson import LessonError
from lesson.services.uploads import HowFar, name_objects


@pytest.mark.parametrize(
    ("prefix", "name"), [("", "x.npz"), ("data", "data/x.npz"), ("/a/b/", "a/b/x.npz")]
)
def test_a_file_keeps_its_name_below_the_prefix(tmp_path: Path, prefix: str, name: str) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(b"x")
    assert name_objects([str(file)], prefix) == [(file, name)]


def test_a_name_that_is_wrong_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"x")
    with pytest.raises(LessonError, match=r"y\.npz is not there; name files that exist, seen from"):
        name_objects([tmp_path / "x.npz", tmp_path / "y.npz"], "")


@pytest.mark.parametrize("files", [["x.npz"], ("x.npz", "y.npz"), None, 3])
def test_what_is_no_file_is_refused_with_an_example(files: Any) -> None:
    with pytest.raises(LessonError, match=r"as in upload\('a\.npz', 'b\.npz'\)"):
        name_objects([files], "")


def test_how_far_a_file_is_is_said_only_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.npz"
    file.write_bytes(bytes(200))
    far = HowFar(file)
    monkeypatch.setattr("lesson.services.uploads.QUIET", 1e9)
    far.at(50)
    monkeypatch.setattr("lesson.services.uploads.QUIET", -1.0)
    far.at(100)
    far.finish()
    assert capsys.readouterr().err == "uploading x.npz: 50%\nuploaded x.npz\n"
