"""A full local cloud says so in each service's own words, and keeps what it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from google.api_core.exceptions import GoogleAPICallError
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

import local_cloud
from local_cloud.client.control import Status
from local_cloud.client.home import Home
from local_cloud.store.space import GB

MOST = 0.005  # GB


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Status]:
    """A local cloud that may hold little."""
    monkeypatch.setenv("LOCAL_CLOUD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCAL_CLOUD_MAX_GB", str(MOST))
    yield local_cloud.client.control.start()
    local_cloud.client.control.stop(Home(tmp_path / "home"))


def test_both_storages_refuse_what_is_too_much(small: Status) -> None:
    url = small.home.url(small.port)
    google = storage.Client(
        project="p", credentials=AnonymousCredentials(), client_options={"api_endpoint": url}
    )
    amazon: Any = boto3.client(
        "s3", endpoint_url=f"{url}/aws", region_name="us-east-1",
        aws_access_key_id="LOCALCLOUD", aws_secret_access_key="x",
    )  # fmt: skip
    bucket = google.create_bucket("full")
    amazon.create_bucket(Bucket="full")
    bucket.blob("kept").upload_from_string(b"x" * 1000)
    amazon.put_object(Bucket="full", Key="kept", Body=b"x" * 1000)
    large = b"x" * int(MOST * GB)
    with pytest.raises(GoogleAPICallError, match="all that LOCAL_CLOUD_MAX_GB allows") as caught:
        bucket.blob("large").upload_from_string(large)
    assert caught.value.code == 507
    with pytest.raises(ClientError, match="all that LOCAL_CLOUD_MAX_GB allows") as refused:
        amazon.put_object(Bucket="full", Key="large", Body=large)
    assert refused.value.response["Error"]["Code"] == "QuotaExceeded"
    assert [blob.name for blob in bucket.list_blobs()] == ["kept"]
    assert amazon.get_object(Bucket="full", Key="kept")["Body"].read() == b"x" * 1000
    google.close()
    amazon.close()
