"""Fixtures that several rooms' tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from testing.fixtures import cloud as cloud
from testing.fixtures import home as home
from testing.fixtures import interruptible as interruptible
from testing.fixtures import nothing_runs_on as nothing_runs_on
from testing.fixtures import pytest_collection_finish as pytest_collection_finish
from testing.order import use_recorded
from testing.workers import pytest_xdist_auto_num_workers as pytest_xdist_auto_num_workers


def pytest_configure(config: pytest.Config) -> None:
    use_recorded(config, Path(__file__).with_name("durations.json"))
