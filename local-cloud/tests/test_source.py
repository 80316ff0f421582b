"""The code that a server has loaded, and what of it has changed since."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from local_cloud.source import Source


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package that is a day old."""
    folder = tmp_path / "package"
    (folder / "room").mkdir(parents=True)
    for name in ("one.py", "room/two.py", "room/page.html"):
        (folder / name).write_text("1")
        os.utime(folder / name, (time.time() - 86_400,) * 2)
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda folder: write(folder / "one.py", "2"), id="of the same size"),
        pytest.param(lambda folder: write(folder / "room/page.html", "22"), id="no Python"),
        pytest.param(lambda folder: write(folder / "room/three.py", ""), id="added"),
        pytest.param(lambda folder: (folder / "room/two.py").unlink(), id="removed"),
        pytest.param(lambda folder: os.utime(folder / "one.py", (0, 0)), id="an older one"),
    ],
)
def test_a_change_is_seen(package: Path, change: Callable[[Path], None]) -> None:
    source = Source(package, time.time())
    assert not source.has_changed()
    change(package)
    assert source.has_changed()


@pytest.mark.parametrize("name", ["__pycache__/one.cpython-311.pyc", ".one.py.swp"])
def test_what_python_and_editors_leave_there_is_no_code(package: Path, name: str) -> None:
    source = Source(package, time.time())
    write(package / name, "2")
    assert not source.has_changed()


def test_a_change_while_the_server_loads_the_code_may_be_loaded_or_not(package: Path) -> None:
    began = time.time() - 1
    write(package / "one.py", "2")
    assert Source(package, began).has_changed()


def test_a_clock_that_is_wrong_does_not_restart_the_server_for_ever(package: Path) -> None:
    os.utime(package / "one.py", (time.time() + 86_400,) * 2)
    assert not Source(package, time.time() - 1).has_changed()
