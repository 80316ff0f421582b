"""Hooks and fixtures of both houses' tests: a conftest.py imports them."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import local_cloud
from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.client.home import Home
from testing import leftovers, once
from testing.examples import USUAL, number_of

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
