"""What S3 has acknowledged outlives a server that is killed at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, Home

MIB = 2**20
# Puts objects, small and large, and parts of one upload in turn; says what has been acknowledged.
WRITES = f"""
import itertools, json
import local_cloud
local_cloud.activate()
import boto3
s3 = boto3.client("s3")
s3.create_bucket(Bucket="kept")
upload = s3.create_multipart_upload(Bucket="kept", Key="parts")["UploadId"]
print(json.dumps({{"upload": upload}}), flush=True)
for number in itertools.count(1):
    size = 100 if number % 3 else {MIB}
    s3.put_object(Bucket="kept", Key=f"object/{{number}}", Body=bytes([number % 256]) * size)
    print(json.dumps({{"object": number, "size": size}}), flush=True)
    part = s3.upload_part(Bucket="kept", Key="parts", UploadId=upload, PartNumber=number,
                          Body=bytes([number % 256]) * {5 * MIB})
    print(json.dumps({{"part": number, "etag": part["ETag"]}}), flush=True)
"""
READS = """
import json, sys
import local_cloud
local_cloud.activate()
import boto3
s3 = boto3.client("s3")
said = json.load(sys.stdin)
parts = [{"PartNumber": one["part"], "ETag": one["etag"]} for one in said if "part" in one]
if parts:
    s3.complete_multipart_upload(Bucket="kept", Key="parts", UploadId=said[0]["upload"],
                                 MultipartUpload={"Parts": parts})
found = {}
for page in s3.get_paginator("list_objects_v2").paginate(Bucket="kept"):
    for one in page.get("Contents", []):
        body = s3.get_object(Bucket="kept", Key=one["Key"])["Body"].read()
        found[one["Key"]] = [len(body), sorted(set(body))]
print(json.dumps(found))
"""


def client(home: Home, code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=CHECKOUT,
        env=os.environ | {"LOCAL_CLOUD_HOME": str(home.folder), "LOCAL_CLOUD_VERTEX_URL": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "seconds", [0.137, pytest.param(0.0, marks=SLOW), pytest.param(0.411, marks=SLOW)]
)
def test_no_acknowledged_byte_is_lost_and_none_is_half_there(own: Home, seconds: float) -> None:
    server = control.status(own).facts["pid"]
    with client(own, WRITES) as writer:
        assert writer.stdout
        said: list[dict[str, Any]] = [json.loads(writer.stdout.readline()) for _ in range(6)]
        time.sleep(seconds)
        os.kill(server, signal.SIGKILL)
        writer.kill()
        said += [json.loads(line) for line in writer.stdout if line.endswith("}\n")]
    control.start(own)

    with client(own, READS) as reader:
        answer, _ = reader.communicate(json.dumps(said))
    content = json.loads(answer)

    for one in said:
        if "object" in one:
            assert content[f"object/{one['object']}"] == [one["size"], [one["object"] % 256]]
    numbers = [one["part"] for one in said if "part" in one]
    assert content["parts"] == [
        5 * MIB * len(numbers),
        sorted({number % 256 for number in numbers}),
    ]
    # One more may be there, which had no time to be acknowledged; then it is whole.
    rest = (
        content.keys() - {"parts"} - {f"object/{one['object']}" for one in said if "object" in one}
    )
    assert len(rest) <= 1
    assert all(content[name][0] in (100, MIB) and len(content[name][1]) == 1 for name in rest)
