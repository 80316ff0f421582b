"""How many workers pytest-xdist starts for `-n auto`, for the tests and for the notebooks."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl(tryfirst=True)  # a plugin named with -p is there before pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """Take one worker more than processors: a quarter of the time a test waits for a process."""
    return (
        len(os.sched_getaffinity(0)) + 1
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )
