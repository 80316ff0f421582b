"""Fixtures that several packages' tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import local_cloud
from lesson import preparation
from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.client.home import Home
from tests import leftovers, once
from tests.examples import USUAL, number_of
from tests.order import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.workers import pytest_xdist_auto_num_workers as pytest_xdist_auto_num_workers

# No test asserts a time. A submission is judged by the same examples every time; at home each run
# tries new ones.
tried = number_of(USUAL)
settings.register_profile("home", deadline=None, max_examples=tried)
settings.register_profile("ci", deadline=None, max_examples=tried, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")

# The tests are about CPUs, also on a machine with a GPU: several replicas cannot share one.
os.environ["CUDA_VISIBLE_DEVICES"] = ""

once.install()

# What a worker makes while it collects stays, and half of that time went into looking for garbage.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage only in what the tests make."""
    gc.freeze()
    gc.enable()


ROOT = Path(__file__).parents[1]


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


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C reaches what the tests start, also where the suite itself is deaf to it (`… &`)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for this worker's own local cloud: no test meets the user's, or another worker's."""
    folder = tmp_path_factory.mktemp("state") / "local cloud"  # blanks are met in real paths
    os.environ["LOCAL_CLOUD_HOME"] = str(folder)
    yield folder
    control.stop(Home(folder))  # by its name: after a notebook the variable is that notebook's


@pytest.fixture(autouse=True)
def nothing_runs_on(home: Path) -> Iterator[None]:
    """The jobs that a test sends to this worker's local cloud end with it, also if it fails."""
    before = leftovers.unended(Home(home))
    yield
    leftovers.end(Home(home), before)


@pytest.fixture(scope="session")
def cloud(home: Path) -> Status:
    """This worker's local cloud, running, with this process's SDKs pointed at it."""
    return local_cloud.activate()
