"""A store of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.store.objects import Objects
from local_cloud.store.records import Records


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    records = Records(tmp_path / "records.sqlite")
    yield records
    records.close()


@pytest.fixture
def objects(tmp_path: Path, records: Records) -> Objects:
    """With one bucket, k."""
    objects = Objects(tmp_path / "buckets", records)
    objects.create_bucket("k", {})
    return objects
