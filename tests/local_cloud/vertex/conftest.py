"""The real google-cloud-aiplatform against this worker's local cloud."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from local_cloud.control import Status
from tests.local_cloud.vertex.support import BUCKET, Script


@pytest.fixture(scope="session")
def aiplatform(cloud: Status) -> ModuleType:
    """The SDK, set up as a learner does it."""
    from google.cloud import aiplatform, storage

    storage.Client().create_bucket(BUCKET)
    aiplatform.init(project="my-project", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    module: ModuleType = aiplatform
    return module


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a script to send; returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "task.py"
        path.write_text(text)
        return str(path)

    return write
