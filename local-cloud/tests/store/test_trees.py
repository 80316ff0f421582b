"""Folders that a job has filled with whatever makes trouble."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from local_cloud.store import trees
from local_cloud.store.interruption import Interrupted, interruptible
from local_cloud.store.trees import BadTree, remove, walk
from tests.deep import nested

DEEP = 1500  # more folders than Python calls functions


def test_a_walk_goes_by_name_and_a_folder_comes_before_what_is_in_it(tmp_path: Path) -> None:
    for name in ("b/2", "b/1/x", "a/y"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "c").symlink_to(tmp_path / "b")
    assert [entry.below for entry in walk(tmp_path)] == [
        "a",
        "a/y",
        "b",
        "b/1",
        "b/1/x",
        "b/2",
        "c",
    ]


def test_folders_may_be_nested_more_deeply_than_python_calls_functions(tmp_path: Path) -> None:
    with nested(tmp_path / "deep", DEEP) as deep:
        assert sum(1 for _ in walk(deep)) == DEEP + 1
    assert not deep.exists()


def test_a_path_that_is_too_long_is_refused_in_a_sentence_and_removed_all_the_same(
    tmp_path: Path,
) -> None:
    too_long = pytest.raises(BadTree, match=r"^the folder .*….* cannot be read: File name too long")
    with nested(tmp_path / "deep", 3000) as deep, too_long:
        list(walk(deep))
    assert not deep.exists()


def test_too_many_entries_are_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    monkeypatch.setattr(trees, "MOST_ENTRIES", 4)
    assert len(list(walk(tmp_path))) == 4
    monkeypatch.setattr(trees, "MOST_ENTRIES", 3)
    with pytest.raises(BadTree, match="holds more than 3 files and folders: put them into an arch"):
        list(walk(tmp_path))


def test_a_path_of_more_than_200_characters_is_shortened_in_a_message() -> None:
    assert trees.shorten("é" * 200) == "é" * 200
    assert trees.shorten("a" * 101 + "b" * 100) == "a" * 100 + "…" + "b" * 99


def test_removing_ends_whatever_is_there_and_follows_no_link(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "closed").mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").touch()
    os.mkfifo(root / "closed/pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
    (root / "link").symlink_to(outside)
    (Path(os.fsdecode(os.fsencode(root) + b"/\xff"))).mkdir()
    (root / "closed").chmod(0)
    remove(root)
    assert not root.exists() and (outside / "kept").exists()
    remove(root)  # nothing is there


@pytest.mark.parametrize("mode", [0o755, 0])
def test_a_folder_that_becomes_a_link_while_its_tree_is_removed_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """As a process can do it that has outlived its job."""
    folder, outside = tmp_path / "root/folder", tmp_path / "outside"
    folder.mkdir(parents=True)
    outside.mkdir()
    (outside / "kept").touch()
    outside.chmod(mode)
    scan = os.scandir

    def swapped(where: Any) -> Any:
        entries = [*scan(where)]
        if folder.is_dir() and not folder.is_symlink():
            folder.rmdir()
            folder.symlink_to(outside)
        return contextlib.nullcontext(entries)

    monkeypatch.setattr(os, "scandir", swapped)
    remove(tmp_path / "root")
    assert stat.S_IMODE(outside.stat().st_mode) == mode
    outside.chmod(0o755)
    assert (outside / "kept").exists()


@pytest.mark.parametrize("work", [remove, lambda root: list(walk(root))])
def test_work_that_is_to_stop_stops(tmp_path: Path, work: object) -> None:
    (tmp_path / "file").touch()
    wanted = threading.Event()
    wanted.set()
    with interruptible(wanted), pytest.raises(Interrupted):
        work(tmp_path)  # type: ignore[operator]
    assert (tmp_path / "file").exists()


def test_empty_folders_are_removed_and_what_a_job_left_stays(tmp_path: Path) -> None:
    with nested(tmp_path / "deep", DEEP) as deep:
        (deep / "empty/inner").mkdir(parents=True)
        trees.remove_empty(deep)
        assert os.listdir(deep) == ["d"]


def test_empty_folders_behind_a_link_stay(tmp_path: Path) -> None:
    (tmp_path / "elsewhere/empty").mkdir(parents=True)
    (tmp_path / "root").mkdir()
    (tmp_path / "root/link").symlink_to(tmp_path / "elsewhere")
    trees.remove_empty(tmp_path / "root")
    assert (tmp_path / "root/link/empty").is_dir()
