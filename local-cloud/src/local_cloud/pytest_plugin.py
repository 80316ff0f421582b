"""The pytest fixture `local_cloud`: Vertex AI and SageMaker for one test.

    def test_training(local_cloud):
        boto3.client("s3").create_bucket(Bucket="data")

Each test finds it empty. When the test ends, so do its jobs and endpoints. One server serves all
tests of a process, in a folder of its own; whoever runs tests by several processes has as many. The
SDKs of the process stay with the local cloud from the first test on that uses it: no later test can
reach a real account by mistake. If a test fails, the logs of its jobs and endpoints are shown.

pytest loads this module in every project of an environment, so it imports little.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from local_cloud.client.control import Status

SHOWN = 16 * 1024  # bytes of each log, its end, below a test that has failed


@pytest.fixture(scope="session")
def local_cloud_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Status]:
    """Yield a server in a folder of its own, to which this process's SDKs are pointed."""
    from local_cloud import activate
    from local_cloud.client import control
    from local_cloud.client.home import Home
    from local_cloud.client.target import stay_local

    folder: Path = tmp_path_factory.mktemp("local_cloud") / "home"
    os.environ["LOCAL_CLOUD_HOME"] = str(folder)
    stay_local()
    started = activate()
    yield started
    control.stop(Home(folder))


@pytest.fixture
def local_cloud(local_cloud_server: Status) -> Iterator[Status]:
    """Yield the local cloud, with no bucket, no job and no model in it."""
    from local_cloud.client import control

    yield local_cloud_server
    control.empty(local_cloud_server.home)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the logs below a test that has failed, while they are there."""
    report = yield
    status: Status | None = getattr(item, "funcargs", {}).get("local_cloud")
    if report.when == "call" and report.failed and status is not None:
        data = status.home.data
        for log in sorted([*data.glob("jobs/*/*.log"), *data.glob("deployments/*/*.log")]):
            if log.is_file() and not log.is_symlink():
                shown = _end_of(log).replace(status.home.secret(), "SECRET")
                report.sections.append((f"local cloud: {log.relative_to(data)}", shown))
    return report


def _end_of(log: Path) -> str:
    """Return the last lines of a log."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - SHOWN))
        return file.read(SHOWN).decode(errors="replace")
