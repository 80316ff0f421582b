"""Fixtures that several packages' tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lesson import preparation
from testing.fixtures import cloud as cloud
from testing.fixtures import home as home
from testing.fixtures import interruptible as interruptible
from testing.fixtures import nothing_runs_on as nothing_runs_on
from testing.fixtures import pytest_collection_finish as pytest_collection_finish
from testing.order import use_recorded
from testing.workers import pytest_xdist_auto_num_workers as pytest_xdist_auto_num_workers

ROOT = Path(__file__).parents[1]


def pytest_configure(config: pytest.Config) -> None:
    use_recorded(config, ROOT / "tests/durations.json")


@pytest.fixture(scope="session")
def real_folder() -> Path:
    """The folder with the real passenger list, split in two; the test is skipped without it."""
    named = os.environ.get("TITANIC_REAL")
    folders = [Path(named)] if named else [ROOT.parent / "shared/data", ROOT / "data/real"]
    for folder in folders:
        if (folder / "titanic_train.csv").exists() and (folder / "titanic_test.csv").exists():
            return folder
    return pytest.skip("the real list is not here: get it with `python -m data.fetch_real`")


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> preparation.Prepared:
    """The Titanic's twin, prepared."""
    return preparation.prepare(ROOT / "data/titanic_train.csv", tmp_path_factory.mktemp("data"))
