"""What the tests of this dialect share: names, and reading back what a job wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from google.cloud import storage

BUCKET = "staging-for-tests"
IMAGE = "us-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310:latest"

Script = Callable[[str], str]

# A script that says what it met: <AIP_MODEL_DIR>/replica-<RANK>.json. The first replica's end is
# the end of the job, so it waits for the others'.
REPORT = """
import json, os, sys, time
from google.cloud import storage
seen = {"arguments": sys.argv[1:], "environment": dict(os.environ)}
bucket, _, folder = os.environ["AIP_MODEL_DIR"].removeprefix("gs://").partition("/")
def report(rank):
    return storage.Client().bucket(bucket).blob(f"{folder}replica-{rank}.json")
report(os.environ["RANK"]).upload_from_string(json.dumps(seen))
while os.environ["RANK"] == "0" and not all(
    report(rank).exists() for rank in range(int(os.environ["WORLD_SIZE"]))
):
    time.sleep(0.02)
"""


def read(address: str) -> Any:
    """The JSON document at a gs:// address."""
    bucket, _, name = address.removeprefix("gs://").partition("/")
    return json.loads(storage.Client().bucket(bucket).blob(name).download_as_bytes())
