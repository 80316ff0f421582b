"""The secret does not get into notebooks: neither by the SDKs' errors nor by what they log."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import local_cloud
from local_cloud.client.control import Status
from local_cloud.client.home import CHECKOUT

# Runs in a process of its own, with a local cloud of its own, which ends half-way. It prints which
# calls raised what, and what of it (with all that a traceback shows) held the secret.
EVERY_ERROR = """
import io, logging, os, signal, traceback
import local_cloud; found = local_cloud.activate()
log = io.StringIO()
logging.basicConfig(stream=log, level=logging.DEBUG)
import boto3, requests, urllib3
from botocore.config import Config
from google.api_core.retry import Retry
from google.cloud import aiplatform, storage
secret = found.url.rpartition("/")[2]
aiplatform.init(project="p", location="us-central1", staging_bucket="gs://none")
gcs, once = storage.Client(), Config(retries={"max_attempts": 0})
s3, sagemaker, logs, iam = (
    boto3.client(name, config=once) for name in ("s3", "sagemaker", "logs", "iam")
)
JOBS = "projects/p/locations/us-central1/customJobs"
impatient = Config(read_timeout=0.2, retries={"max_attempts": 0})
def unanswered(call):
    os.kill(found.facts["pid"], signal.SIGSTOP)
    try:
        call()
    finally:
        os.kill(found.facts["pid"], signal.SIGCONT)
CALLS = {
    "gcs 404": lambda: gcs.get_bucket("none", retry=None),
    "gcs upload": lambda: gcs.bucket("none").blob("x").upload_from_string("x", retry=None),
    "gcs resumable": lambda: gcs.bucket("none").blob("x", chunk_size=1 << 18).upload_from_string(
        "x" * (1 << 19), retry=None),
    "gcs download": lambda: gcs.bucket("none").blob("x").download_as_bytes(retry=None),
    "gcs 409": lambda: [gcs.create_bucket("some-bucket", retry=None) for _ in range(2)],
    "gcs 400": lambda: gcs.create_bucket("A", retry=None),
    "gcs again": lambda: gcs.get_bucket("none", retry=Retry(timeout=0.1)),
    "vertex 404": lambda: aiplatform.initializer.global_config.create_client(
        aiplatform.utils.JobClientWithOverride).get_custom_job(name=JOBS + "/1", retry=None),
    "vertex filter": lambda: aiplatform.CustomJob.list(filter="((("),
    "vertex 400": lambda: aiplatform.CustomJob("x", [{"machine_spec": {}}]).submit(),
    "vertex 501": lambda: aiplatform.Featurestore.list(),
    "s3 404": lambda: s3.head_bucket(Bucket="none"),
    "s3 upload": lambda: s3.upload_file(os.devnull, "none", "x"),
    "s3 timeout": lambda: unanswered(boto3.client("s3", config=impatient).list_buckets),
    "sagemaker": lambda: sagemaker.describe_training_job(TrainingJobName="x"),
    "sagemaker arguments": lambda: sagemaker.describe_training_job(Name="x"),
    "sagemaker 501": lambda: sagemaker.list_feature_groups(),
    "logs": lambda: logs.get_log_events(logGroupName="x", logStreamName="y"),
    "iam": lambda: iam.get_role(RoleName="no"),
    "requests": lambda: requests.get(found.url + "/storage/v1/b/none").raise_for_status(),
    "urllib3": lambda: urllib3.PoolManager().request("GET", found.url + "/", retries=0)
        if not found.home.running() else 1 / 0,
}
def run():
    for name, call in CALLS.items():
        try:
            call()
            print("nothing wrong with", name)
        except Exception as problem:
            text = "".join(traceback.format_exception(problem)) + repr(problem)
            print("LEAK" if secret in text + str(vars(problem)) else "safe", name)
run()
local_cloud.stop()
run()
print("LEAK" if secret in log.getvalue() else "safe", "log of", log.getvalue().count("/SECRET/"))
"""


def test_no_error_of_any_sdk_holds_it(tmp_path: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if "LOCAL_CLOUD" not in name}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EVERY_ERROR],
        cwd=CHECKOUT,
        env=environment | {"LOCAL_CLOUD_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) > 40
    assert [line for line in lines if not line.startswith("safe ")] == []
    assert int(lines[-1].rpartition(" ")[2]) > 40  # the log quotes URLs, without the secret


def test_nor_does_what_a_cell_shows(cloud: Status) -> None:
    secret = str(cloud.url).rpartition("/")[2]
    assert secret not in repr(cloud) + str(cloud) + repr(local_cloud.status())


def test_no_notebook_holds_one() -> None:
    holders = [
        path.name
        for path in (CHECKOUT.parents[1] / "notebooks").rglob("*.ipynb")
        if re.search(r"(127\.0\.0\.1|localhost):\d+/[A-Za-z0-9_-]{43}", path.read_text())
    ]
    assert holders == []
