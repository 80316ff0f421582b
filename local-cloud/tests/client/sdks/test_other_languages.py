"""Clients in C++ inside Python packages: those that have a variable for it are led here."""

from __future__ import annotations

import os
import subprocess
import sys

import boto3
import pytest
from google.cloud import storage

from local_cloud.client.control import Status
from local_cloud.client.environment import find_misleading
from testing.other_environments import SOURCE

READ = """
import sys
from pyarrow import fs
for uri in sys.argv[1:]:
    system, path = fs.FileSystem.from_uri(uri)
    with system.open_output_stream(f"{path}-2") as file:
        file.write(b"of " + system.open_input_file(path).read())
"""


@pytest.fixture
def bucket(cloud: Status) -> storage.Bucket:
    bucket = storage.Client().bucket("of-cpp")
    if not bucket.exists():
        bucket.create()
    bucket.blob("a.txt").upload_from_string("text")
    return bucket


def test_pyarrow_reads_and_writes_both_clouds_buckets(bucket: storage.Bucket) -> None:
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket="of-cpp-too")
    s3.put_object(Bucket="of-cpp-too", Key="a.txt", Body=b"text")
    done = subprocess.run(
        [sys.executable, "-c", READ, "gs://of-cpp/a.txt", "s3://of-cpp-too/a.txt"],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,  # without a server for its tokens it would try for a quarter of an hour
    )
    assert done.returncode == 0, done.stderr
    assert bucket.blob("a.txt-2").download_as_text() == "of text"
    assert s3.get_object(Bucket="of-cpp-too", Key="a.txt-2")["Body"].read() == b"of text"


def test_no_variable_leads_them_to_a_real_account() -> None:
    own = {"GOOGLE_APPLICATION_CREDENTIALS": "key.json", "GCE_METADATA_HOST": "metadata"}
    assert find_misleading(own) == sorted(own)
