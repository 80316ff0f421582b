"""The real client, pointed at Cloud Storage's routes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud import storage

from tests.google.gcs.support import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("local-cloud")) as server:
        yield server


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[storage.Client]:
    """Without any bucket, in project p."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    client = storage.Client(project="p")
    for bucket in client.list_buckets():
        bucket.delete(force=True)
    yield client
    client.close()


@pytest.fixture
def bucket(client: storage.Client) -> storage.Bucket:
    return client.create_bucket("bucket")
