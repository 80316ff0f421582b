"""A pytest plugin for the notebooks: each worker's kernels meet a local cloud of their own.

`make test` runs the notebooks with `-p tests.notebooks`. Fixtures do not reach notebook cells, so
this uses the session's hooks.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import local_cloud

_folders: list[tempfile.TemporaryDirectory[str]] = []


def pytest_sessionstart() -> None:
    """Name an empty folder; the first cell that needs the local cloud starts it there."""
    _folders.append(tempfile.TemporaryDirectory(prefix="notebooks-"))
    os.environ["LOCAL_CLOUD_HOME"] = str(Path(_folders[-1].name) / "local-cloud")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Stop it, and remove the folder."""
    local_cloud.stop()
    _folders.pop().cleanup()
