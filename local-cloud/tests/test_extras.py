"""Services whose libraries are extras of the package: without them, the others work."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from local_cloud import extras
from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.parts import Parts as SageMaker
from local_cloud.google import services
from local_cloud.google.rest import GoogleError
from local_cloud.google.vertex.parts import Parts as Vertex
from local_cloud.platform import Platform

# Runs in a Python that finds none of the extras' libraries.
WITHOUT = """
import sys
from pathlib import Path

sys.modules.update(dict.fromkeys({libraries}))  # None: it is not found
from local_cloud import server
from local_cloud.client.home import Home

home = Home(Path(sys.argv[1]))
home.make()
server.build(home, 1)
print("built")
"""


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    """Of a server whose environment lacks the libraries of both extras."""
    monkeypatch.setattr(extras, "LIBRARIES", {"automl": ("absent",), "bigquery": ("absent",)})
    platform = Platform.of(tmp_path, {})
    yield platform
    platform.close_records()


def test_a_server_is_built_without_the_extras(tmp_path: Path) -> None:
    libraries = {name for names in extras.LIBRARIES.values() for name in names}
    code = WITHOUT.replace("{libraries}", str(libraries))
    command = [sys.executable, "-c", code, str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("built\n", 0), done.stderr


def test_bigquery_without_its_libraries_says_what_to_install(platform: Platform) -> None:
    app = Starlette(routes=services.bigquery(platform).routes)

    async def ask(path: str) -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.get(path)

    answer = asyncio.run(ask("/bigquery/v2/projects/p/datasets"))
    assert answer.status_code == 501
    assert answer.json()["error"]["message"] == (
        "not implemented in the local cloud: BigQuery without absent; run `pip install"
        " 'local-cloud-emulator[bigquery]'` where its server runs, stop the local cloud and start"
        " it again"
    )
    with pytest.raises(GoogleError, match=r"\(bq://p\.d\.t\) without absent"):
        platform.tables["bq"]("bq://p.d.t", Path("table.csv"))


def test_automl_without_its_libraries_says_what_to_install(platform: Platform) -> None:
    job = {"trainingTaskInputs": {}, "trainingTaskDefinition": "", "displayName": "a"}
    with pytest.raises(GoogleError, match=r"AutoML without absent; .*-emulator\[automl\]'"):
        Vertex.of(platform).training.automl.create("projects/p/locations/l", job, "vertex")
    with pytest.raises(ServiceError, match=r"Autopilot without absent; .*-emulator\[automl\]'"):
        SageMaker.of(platform).autopilot.create_v2({"AutoMLJobName": "a"})
