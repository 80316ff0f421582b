"""The real client, pointed at this worker's local cloud; a dataset for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud import bigquery

from local_cloud.client.control import Status
from tests.google.bigquery.support import Run


@pytest.fixture(scope="session")
def client(cloud: Status) -> Iterator[bigquery.Client]:
    """In project `bigquery-tests`."""
    client = bigquery.Client(project="bigquery-tests")
    yield client
    client.close()


@pytest.fixture
def dataset(client: bigquery.Client) -> Iterator[str]:
    """An empty dataset, named `d`."""
    client.delete_dataset("d", delete_contents=True, not_found_ok=True)
    client.create_dataset("d")
    yield "d"
    client.delete_dataset("d", delete_contents=True, not_found_ok=True)


@pytest.fixture
def run(client: bigquery.Client, dataset: str) -> Run:
    """Runs a query in the dataset, which is the default one, and returns its rows as tuples."""
    return Run(client, dataset)
