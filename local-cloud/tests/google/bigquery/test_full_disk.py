"""BigQuery on a disk that takes nothing more, and once it does again."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from local_cloud.google.bigquery.catalog.catalog import Catalog
from local_cloud.google.bigquery.catalog.outcome import Outcome
from local_cloud.google.bigquery.duckdb.database import Database
from local_cloud.google.bigquery.jobs import jobs as jobs_module
from local_cloud.google.bigquery.jobs.jobs import KIND, Jobs
from local_cloud.google.bigquery.service import service
from local_cloud.platform import Platform
from local_cloud.store import space
from local_cloud.store.records import Document, Records

MB = 2**20
PROJECT = "/bigquery/v2/projects/p"
ROWS = "UNNEST(GENERATE_ARRAY(1, 300000)) AS x"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 MB, of which the local cloud may use all."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root can make a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


class Client:
    """Sends requests to the service, without a server."""

    def __init__(self, app: Starlette) -> None:
        self._transport = httpx.ASGITransport(app)

    def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._send(method, path, **more))

    async def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=self._transport, base_url="http://x") as client:
            return await client.request(method, path, timeout=60, **more)


@pytest.fixture
def client(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr(space, "RESERVE", 0)
    platform = Platform.of(disk, {})
    yield Client(Starlette(routes=service(platform).routes))
    for close in platform.at_close:
        close()
    platform.records.close()
    platform.s3.records.close()


def query(client: Client, text: str) -> tuple[int, Any]:
    body = {"query": text, "useLegacySql": False, "timeoutMs": 60_000}
    answer = client.send("POST", f"{PROJECT}/queries", json=body)
    return answer.status_code, answer.json()


def load(client: Client) -> tuple[int, str]:
    """Load a file of 6 MB; the code of the answer, and the reason of the job's end."""
    table = {"projectId": "p", "datasetId": "d", "tableId": "loaded"}
    settings = {"destinationTable": table, "autodetect": True}
    job = {"configuration": {"load": settings}}
    rows = "a,b\n" + "".join(f"{x},{x * 7919 % 1000003}\n" for x in range(400_000))
    parts = [("application/json", json.dumps(job)), ("text/csv", rows)]
    body = "".join(f"--x\r\nContent-Type: {kind}\r\n\r\n{text}\r\n" for kind, text in parts)
    answer = client.send(
        "POST",
        f"/upload{PROJECT}/jobs?uploadType=multipart",
        content=f"{body}--x--\r\n".encode(),
        headers={"Content-Type": "multipart/related; boundary=x"},
    )
    document = answer.json()
    if answer.status_code != 200:
        return answer.status_code, document["error"]["errors"][0]["reason"]
    while document["status"]["state"] != "DONE":
        path = f"{PROJECT}/jobs/{document['jobReference']['jobId']}"
        document = client.send("GET", path).json()
    return 200, document["status"]["errorResult"]["reason"]


def test_what_does_not_fit_is_refused_and_nothing_is_lost(disk: Path, client: Client) -> None:
    dataset = {"datasetReference": {"projectId": "p", "datasetId": "d"}}
    assert client.send("POST", f"{PROJECT}/datasets", json=dataset).status_code == 200
    assert query(client, "CREATE TABLE d.t (x INT64, y STRING)")[0] == 200
    assert query(client, "INSERT INTO d.t VALUES (1, 'one')")[0] == 200
    with (disk / "other").open("wb") as other:
        other.write(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - 2 * MB))
    large = [
        f"INSERT INTO d.t SELECT x, TO_HEX(SHA256(CAST(x AS STRING))) FROM {ROWS}",
        f"CREATE TABLE d.u AS SELECT x, SHA256(CAST(x AS STRING)) AS y FROM {ROWS}",
        f"SELECT x, SHA512(CAST(x AS STRING)) AS y FROM {ROWS}",
    ]
    for text in large:
        code, answer = query(client, text)
        assert (code, answer["error"]["errors"][0]["reason"]) == (507, "quotaExceeded"), answer
    assert load(client)[1] == "quotaExceeded"
    with (disk / "more").open("wb", buffering=0) as more, pytest.raises(OSError, match="No space"):
        while True:
            more.write(bytes(4096))
    rows = {"rows": [{"json": {"x": n, "y": "y" * 1000}} for n in range(2000)]}
    refused = [
        *(query(client, "INSERT INTO d.t VALUES (2, 'two')") for _ in range(5)),
        query(client, "UPDATE d.t SET x = 3 WHERE TRUE"),
        query(client, "CREATE TABLE d.u (x INT64)"),
    ]
    for code, answer in refused:
        assert (code, answer["error"]["errors"][0]["reason"]) == (507, "quotaExceeded"), answer
    inserted = client.send("POST", f"{PROJECT}/datasets/d/tables/t/insertAll", json=rows)
    assert inserted.status_code == 507, inserted.text
    assert client.send("GET", f"{PROJECT}/datasets/d/tables/t/data").json()["totalRows"] == "1"
    for name in ("other", "more"):
        (disk / name).unlink()
    assert query(client, "INSERT INTO d.t VALUES (2, 'two')")[0] == 200
    answer = query(client, "SELECT x, y FROM d.t ORDER BY x")[1]
    assert [[cell["v"] for cell in row["f"]] for row in answer["rows"]] == [
        ["1", "one"],
        ["2", "two"],
    ]


class Full(Records):
    """Records on a disk that is full while `full` is set, as SQLite says it."""

    full = False

    def put(self, kind: str, name: str, document: Document) -> None:
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")
        super().put(kind, name, document)


def test_a_job_has_ended_once_its_end_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "RETRY", 0.02)
    records, database = Full(tmp_path / "records.sqlite"), Database(tmp_path)
    jobs = Jobs(records, database, Catalog(database))

    def handler(*_: Any) -> Outcome:
        records.full = True
        return Outcome({"totalBytesProcessed": "0"})

    jobs.create("p", {"jobType": "QUERY", "query": {}}, {"jobId": "j"}, user="me", handler=handler)
    while not records.full:
        time.sleep(0.02)
    future = jobs.find_running("p", "j")
    assert future and not future.done()
    assert jobs.get("p", "j")["status"]["state"] == "RUNNING"  # as after a kill
    records.full = False
    future.result(10)
    document = records.get(KIND, "p/j")
    assert document and document["status"] == {"state": "DONE"}
    jobs.close()
    database.close()
    records.close()
