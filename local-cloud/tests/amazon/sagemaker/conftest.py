"""Jobs with and without mounts, and a service for what is refused at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from local_cloud.client.control import Status
from local_cloud.engine.isolation import roots
from local_cloud.json_types import Json
from tests.amazon.sagemaker.serving import Trained, make_trained
from tests.amazon.sagemaker.support import Service, running


@pytest.fixture(params=["mounted", "rewritten"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With and without mount namespaces, as machines allow them or not."""
    real = roots.available()
    if request.param == "mounted" and not real:
        pytest.skip("this machine allows no mounts")
    monkeypatch.setattr(roots, "available", lambda: request.param == "mounted")
    return str(request.param)


class SharedService:
    """One service for many requests, none of which starts anything."""

    def __init__(self, service: Service, runner: asyncio.Runner) -> None:
        self._service, self._runner = service, runner
        self.put = service.put

    def __call__(self, operation: str, **params: Any) -> Json:
        async def answer() -> Json:
            return self._service(operation, **params)

        return self._runner.run(answer())


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedService]:
    with asyncio.Runner() as runner:
        context = running(tmp_path_factory.mktemp("shared"))
        yield SharedService(runner.run(context.__aenter__()), runner)
        runner.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def trained(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A model of train_nn.py, its archive in S3 as our helpers' jobs leave it, and its answers."""
    return make_trained(tmp_path_factory.mktemp("model"))
