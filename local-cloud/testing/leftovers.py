"""What a test has left running on its worker's local cloud, and how it is ended.

A test that fails half-way does not get to cancel its job, and one of ten million epochs would hold
up the tests that follow in the same process. The records are read and the services are asked
directly: this works whatever the test did to the SDKs.
"""

from __future__ import annotations

import json
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import NamedTuple

from local_cloud.client import control
from local_cloud.client.home import Home

SECONDS = 180.0  # that ending may take: a job has a grace period, and the machine other work
UNENDED = """
SELECT kind, coalesce(json_extract(document, '$.dialect'), json_extract(document, '$.cloud')), name
FROM record WHERE kind IN ('job', 'study')
AND json_extract(document, '$.state') NOT IN ('SUCCEEDED', 'FAILED', 'STOPPED')
"""
NAME_OF_JOB = (
    "SELECT json_extract(document, '$.name') FROM record WHERE kind = 'vertex-job' AND name = ?"
)
ON_SAGEMAKER = {
    "job": ("StopTrainingJob", "TrainingJobName"),
    "study": ("StopHyperParameterTuningJob", "HyperParameterTuningJobName"),
}


class Leftover(NamedTuple):
    """A job or a tuning job that has not ended."""

    kind: str
    cloud: str
    name: str


def unended(home: Home) -> set[Leftover]:
    """The jobs and tuning jobs of this local cloud that have not ended."""
    return {Leftover(*row) for row in _rows(home, UNENDED)}


def _rows(home: Home, query: str, *values: str) -> list[tuple[str, ...]]:
    path = home.data / "records.sqlite"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        rows: list[tuple[str, ...]] = database.execute(query, values).fetchall()
        return rows


def end(home: Home, before: Iterable[Leftover]) -> None:
    """Have all end that were not there before, and wait until they have."""
    known, deadline = set(before), time.monotonic() + SECONDS
    asked: set[Leftover] = set()
    while (left := unended(home) - known) and (status := control.status(home)).running:
        assert time.monotonic() < deadline, f"still running after {SECONDS:g} s: {left}"
        for one in left - asked:
            _ask_to_end(one, home, status.url)
        asked |= left
        time.sleep(0.05)


def _ask_to_end(one: Leftover, home: Home, url: str | None) -> None:
    if one.cloud == "sagemaker":
        operation, field = ON_SAGEMAKER[one.kind]
        headers = {"X-Amz-Target": f"SageMaker.{operation}"}
        request = urllib.request.Request(
            f"{url}/aws", json.dumps({field: one.name}).encode(), headers
        )
    else:
        name = _rows(home, NAME_OF_JOB, one.name)[0][0] if one.kind == "job" else one.name
        request = urllib.request.Request(f"{url}/v1/{name}:cancel", b"{}")
    with suppress(urllib.error.HTTPError):  # it has ended meanwhile
        urllib.request.urlopen(request).close()
