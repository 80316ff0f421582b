"""reset(): the local cloud and runs/ are emptied, and nothing else is touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lesson
import local_cloud
from lesson.setup.clean_start import clean_start
from local_cloud import Status

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a local cloud that no other test uses, since it is emptied; it does not run."""
    folder = tmp_path_factory.mktemp("state") / "local-cloud"
    monkeypatch.setenv("LOCAL_CLOUD_HOME", str(folder))
    return folder


@pytest.fixture
def running(own: Path) -> Iterator[Status]:
    """It runs."""
    subprocess.run([sys.executable, "-m", "local_cloud", "start"], check=True, capture_output=True)
    yield local_cloud.status()
    local_cloud.stop()


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A lesson's folder in which somebody has worked."""
    for name in ("runs/data/train_data.npz", "runs/first/model.pt", "work/02-a.ipynb", "mine.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("something")
    return tmp_path


def test_buckets_and_runs_are_gone_and_notebooks_stay(
    used: Path, running: Status, capsys: Printed
) -> None:
    (running.home.data / "buckets" / "of-yesterday").mkdir(parents=True)
    clean_start(used)
    assert not (running.home.data / "buckets" / "of-yesterday").exists()
    assert local_cloud.status().url == running.url  # open notebooks find it again
    left = {str(path.relative_to(used)) for path in used.rglob("*") if path.is_file()}
    assert left == {"work/02-a.ipynb", "mine.csv"}
    said = capsys.readouterr().out
    assert str(running.home.folder) in said
    assert "2 files were removed from runs/" in said and "notebooks in work/ (1)" in said


def test_a_second_time_and_in_a_fresh_clone_it_does_nothing(tmp_path: Path) -> None:
    clean_start(tmp_path)
    clean_start(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_runs_only_points_to_is_not_deleted(used: Path, own: Path) -> None:
    elsewhere = own.parent / "other disk"
    elsewhere.mkdir()
    (elsewhere / "photo.png").write_text("not of the lesson")
    (used / "runs/link").symlink_to(elsewhere)
    clean_start(used)
    assert list((used / "runs").iterdir()) == []
    assert (elsewhere / "photo.png").is_file()


def test_nothing_is_deleted_while_the_target_is_the_real_cloud(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(lesson.LessonError, match=r"LESSON_TARGET is cloud.*cleanup\(\)"):
        clean_start(used)
    assert (used / "runs/first/model.pt").is_file()


def test_in_a_notebook_it_is_one_word(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson, "ROOT", used)
    lesson.reset()
    assert not (used / "runs/first").exists()
