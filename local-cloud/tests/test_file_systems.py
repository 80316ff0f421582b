"""gcsfs and s3fs, in an environment of their own without a server's packages, find the local cloud.

Its Python calls activate() as a notebook there would, while a server of this checkout runs.
"""

from __future__ import annotations

import os
import subprocess

import boto3
import pytest
from google.cloud import storage

from local_cloud.client.control import Status
from testing.other_environments import SOURCE, tool

pytestmark = pytest.mark.slow

OPENING = """
import local_cloud
local_cloud.activate()
import fsspec
"""
USE = """
system = fsspec.filesystem({scheme!r})
with system.open("of-file-systems/a/b.txt", "w") as file:
    file.write("text")
with fsspec.open("{scheme}://of-file-systems/large.bin", "wb") as file:
    file.write(bytes(12_000_000))  # in several parts
print(system.ls("of-file-systems/a"), system.cat("of-file-systems/a/b.txt"))
print(system.info("of-file-systems/large.bin")["size"])
system.rm("of-file-systems/a", recursive=True)
print(system.exists("of-file-systems/a/b.txt"))
"""
ELSEWHERE = """
try:
    fsspec.filesystem({scheme!r}, endpoint_url="https://192.0.2.1").ls("bucket")
except local_cloud.LocalCloudError as problem:
    print(problem)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "GCSFS_", "LOCAL_CLOUD_VERTEX", "STORAGE_"))
    }
    return subprocess.run(
        [tool("filesystems", "python"), "-c", OPENING + code],
        env=own | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def buckets(cloud: Status) -> None:
    storage.Client().create_bucket("of-file-systems")
    boto3.client("s3").create_bucket(Bucket="of-file-systems")


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_a_file_system(buckets: None, scheme: str) -> None:
    done = run(USE.format(scheme=scheme))
    expected = "['of-file-systems/a/b.txt'] b'text'\n12000000\nFalse\n"
    assert done.stdout == expected, done.stderr
    assert "Using the local cloud that" in done.stderr  # it has no uvicorn, for one


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_it_goes_nowhere_else(cloud: Status, scheme: str) -> None:
    done = run(ELSEWHERE.format(scheme=scheme))
    assert "a request to 192.0.2.1 was stopped" in done.stdout, done.stderr
