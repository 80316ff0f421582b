"""The real google-cloud-aiplatform against this worker's local cloud."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from local_cloud.client.control import Status
from tests.google.vertex.support import BUCKET, Script

if TYPE_CHECKING:
    from tests.google.vertex.trained_model import Trained


@pytest.fixture(scope="session")
def bucket(cloud: Status) -> str:
    """The bucket of these tests."""
    from google.cloud import storage

    storage.Client().create_bucket(BUCKET)
    return BUCKET


@pytest.fixture(scope="module")
def aiplatform(bucket: str) -> ModuleType:
    """The SDK, set up as a learner does it, whatever other tests of this process have set up."""
    from google.cloud import aiplatform

    aiplatform.init(project="my-project", location="us-central1", staging_bucket=f"gs://{bucket}")
    module: ModuleType = aiplatform
    return module


@pytest.fixture(scope="session")
def trained(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A trained model in the bucket."""
    from tests.google.vertex.trained_model import make

    return make(tmp_path_factory.mktemp("model"))


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Write a script to send; returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "task.py"
        path.write_text(text)
        return str(path)

    return write
