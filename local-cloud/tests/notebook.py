"""A process with the real SDKs that makes the same calls again and again, each with a clock."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

from local_cloud.client.home import CHECKOUT, Home

# A notebook's kernel, so to speak. For each line that it reads it makes all its calls, each with a
# clock: the SDKs' own patience is two minutes, so none may come near to that.
NOTEBOOK = """
import asyncio, sys, time
import local_cloud; local_cloud.activate()
import boto3
from google.cloud import aiplatform, bigquery, storage
aiplatform.init(project="p", location="us-central1")
gcs, s3, sagemaker = storage.Client(), boto3.client("s3"), boto3.client("sagemaker")
queries, logs = bigquery.Client(), boto3.client("logs")
PARENT = "projects/p/locations/us-central1"
async def list_asynchronously():
    async with aiplatform.gapic.JobServiceAsyncClient() as client:
        await client.list_custom_jobs(parent=PARENT)
CALLS = {
    "storage": lambda: list(gcs.list_buckets()),
    "aiplatform": aiplatform.CustomJob.list,
    "generated": lambda: aiplatform.gapic.JobServiceClient().list_custom_jobs(parent=PARENT),
    "asynchronous": lambda: asyncio.run(list_asynchronously()),
    "bigquery": lambda: list(queries.query("SELECT 1").result()),
    "logs": logs.describe_log_groups,
    "s3": s3.list_buckets,
    "sagemaker": sagemaker.list_training_jobs,
}
print("ready", flush=True)
for _ in sys.stdin:
    for name, call in CALLS.items():
        begun = time.monotonic()
        try:
            call()
            said = "answered"
        except Exception as problem:
            said = f"{type(problem).__name__} {problem}"
        print(name, round(time.monotonic() - begun, 2), " ".join(said.split()), flush=True)
"""
SDKS = 8


class Said(NamedTuple):
    """What came of one call."""

    name: str
    seconds: float
    text: str


class Notebook:
    """A process with the real SDKs."""

    def __init__(self, home: Home) -> None:
        named = {"LOCAL_CLOUD_HOME": str(home.folder), "LOCAL_CLOUD_VERTEX_URL": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-c", NOTEBOOK],
            cwd=CHECKOUT,
            env=os.environ | named,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def ask(self) -> list[Said]:
        """Have it make every call."""
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        lines = [self._line().split(" ", 2) for _ in range(SDKS)]
        return [Said(name, float(seconds), text) for name, seconds, text in lines]

    def end(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
