"""A visitor who has signed in, and a local cloud with one of everything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

import local_cloud
from local_cloud.client.control import Status
from testing.visitor import Visitor
from tests.console.filled_cloud import BUCKET, Filled, fill


@pytest.fixture
def visitor(cloud: Status) -> Visitor:
    """Somebody who has signed in."""
    return Visitor.of(cloud)


@pytest.fixture(scope="module")
def filled(cloud: Status) -> Iterator[Filled]:
    """One of everything and nothing else, by the SDKs; what other tests have made comes back."""
    data, aside = cloud.home.data, cloud.home.folder / "of other tests"
    local_cloud.stop()
    data.rename(aside)
    local_cloud.activate()
    from google.cloud import aiplatform

    aiplatform.init(project="filled", location="us-central1", staging_bucket=f"gs://{BUCKET}")
    yield fill(aiplatform)
    local_cloud.stop()
    shutil.rmtree(data)
    aside.rename(data)
    local_cloud.activate()
