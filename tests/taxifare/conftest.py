"""One set of rides and one training with the module, for all tests of the trainer."""

from __future__ import annotations

from pathlib import Path

import pytest

from data import make_rides
from tests.taxifare import running


@pytest.fixture(scope="session")
def rides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rides")
    make_rides.write(folder, shards=2)
    return folder


@pytest.fixture(scope="session")
def module(rides: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of `python -m trainer.task` on this machine, alone, with torch."""
    folder = tmp_path_factory.mktemp("module")
    running.ended(running.started(running.flags(str(rides), str(folder))))
    return folder
