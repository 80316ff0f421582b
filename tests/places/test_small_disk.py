"""A small disk: a space of SageMaker Studio has 5 GB by default (Amazon's pages, 2026-11-22)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places.places import bare, clone, megabytes


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with 5 GB, in memory; only root can mount one."""
    folder = tmp_path / "sagemaker-user"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=5000000000", "none", folder]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user cannot mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.slow
def test_the_environment_fills_less_than_2_gb_of_it_and_keeps_no_downloads(disk: Path) -> None:
    lesson = clone(disk / "lesson")
    # uv's cache in the home would be on this disk; this Python has its build of torch for CPUs.
    path = f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"
    variables = {
        name: value for name, value in bare(disk, PATH=path).items() if "CACHE" not in name
    }
    begun = time.monotonic()
    hub = subprocess.run(
        ["python3", "-m", "tools.lab.hub"],
        cwd=lesson,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert hub.returncode == 0, hub.stdout + hub.stderr
    assert "the packages for BigQuery and for the tests and the site are left out" in hub.stdout
    seconds = time.monotonic() - begun
    beside = shutil.disk_usage(disk).used / 1e6 - megabytes(lesson)
    assert beside < 50, "nothing is kept beside the lesson"
    python = lesson / ".venv/bin/python"
    compare = subprocess.run([python, "-m", "tools.compare"], cwd=lesson, env=variables)
    check = subprocess.run(
        [python, "-m", "lesson.check"], cwd=lesson, env=variables, capture_output=True, text=True
    )
    subprocess.run([python, "-m", "local_cloud", "stop"], cwd=lesson, env=variables)
    assert compare.returncode == 0
    assert check.returncode == 0, check.stdout
    size = megabytes(lesson / ".venv")  # with the modules that were imported, compiled
    print(f"\na disk of 5 GB: {seconds:.0f} s with an empty cache, {size} MB")
    assert size < 2000
