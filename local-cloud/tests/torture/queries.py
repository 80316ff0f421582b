"""Queries that need all the memory or never end, cancels, and kills of the process that runs them.

Rows that were acknowledged are there at the end, every answer is one of BigQuery's own, and the
server stays small and answers.
"""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from testing.tally import Tally
from tests.torture.rig import Rig

PROJECT = "/bigquery/v2/projects/torture"
LARGEST = 1 << 30  # bytes that the server itself may take
CLIENTS = 2
# Errors that a heavy query may end with; a mistake of the local cloud's is `fault`.
ENDS = {
    "resourcesExceeded",
    "invalidQuery",
    "stopped",
    "notImplemented",
    "backendError",
    "responseTooLarge",
    "invalid",
    "quotaExceeded",
}


def sentence(chosen: random.Random) -> str:
    """A query of a small grammar, most of them heavy."""
    count = chosen.choice([1, 12, 1000, 1_000_000])
    rows = f"UNNEST(GENERATE_ARRAY(1, {count})) AS x"
    text = _text(chosen, chosen.randint(0, 4))
    return chosen.choice(
        [
            f"SELECT SUM(LENGTH({text})) AS s FROM {rows}",
            f"SELECT {text} AS t FROM {rows}",
            f"SELECT COUNT(DISTINCT {text}) AS n FROM {rows}",
            f"SELECT ARRAY_LENGTH(ARRAY_AGG({text})) AS n FROM {rows}",
            f"SELECT STRING_AGG({text}, ',') AS s FROM {rows}",
            f"SELECT SUM(a * b) AS s FROM {rows}, UNNEST(GENERATE_ARRAY(1, 1000000)) AS a,"
            " UNNEST(GENERATE_ARRAY(1, 1000000)) AS b",
            "WITH RECURSIVE t AS (SELECT 'x' AS s UNION ALL SELECT CONCAT(s, s) FROM t"
            f" WHERE LENGTH(s) < {count} * 1000) SELECT SUM(LENGTH(s)) AS n FROM t",
            f"SELECT {', '.join(f'x + {n} AS c{n}' for n in range(min(count, 3000)))} FROM {rows}",
        ]
    )


def _text(chosen: random.Random, depth: int) -> str:
    if depth == 0:
        return "CAST(x AS STRING)"
    inner, size = _text(chosen, depth - 1), 10 ** chosen.randint(1, 9)
    return chosen.choice(
        [
            f"FORMAT('%{size}d', x)",
            f"REPEAT({inner}, {size})",
            f"LPAD({inner}, {size})",
            " || ".join([f"({inner})"] * 8),
            f"REPLACE({inner}, '1', {inner})",
            f"ARRAY_TO_STRING([{inner}, {inner}, {inner}], {inner})",
        ]
    )


class Client(threading.Thread):
    """Sends heavy queries, cancels some, and inserts rows in between."""

    def __init__(self, rig: Rig, number: int, end: float, tally: Tally) -> None:
        super().__init__(daemon=True)
        self.rig, self.number, self.end, self.tally = rig, number, end, tally
        self.rows: list[int] = []  # acknowledged
        self.unsure: set[int] = set()

    def run(self) -> None:
        chosen, count = random.Random(self.number), 0
        while time.monotonic() < self.end:
            count += 1
            self._heavy(sentence(chosen), chosen.uniform(0.0, 3.0))
            row = self.number * 1_000_000 + count
            status, _ = ask(self.rig, "POST", "/queries", query(f"INSERT INTO d.t VALUES ({row})"))
            if status == 200:
                self.rows.append(row)
            else:
                self.unsure.add(row)

    def _heavy(self, text: str, patience: float) -> None:
        """Run a query, and cancel it if it takes longer than this."""
        configuration = {"query": {"query": text, "useLegacySql": False}}
        status, job = ask(self.rig, "POST", "/jobs", {"configuration": configuration})
        if status != 200:
            self.tally.breaks(f"{text[:200]}: {status} {job}")
            return
        path = f"/jobs/{job['jobReference']['jobId']}"
        cancel_at, give_up = time.monotonic() + patience, time.monotonic() + patience + 60
        cancelled = False
        while job["status"]["state"] != "DONE" and time.monotonic() < give_up:
            if not cancelled and time.monotonic() > cancel_at:
                ask(self.rig, "POST", f"{path}/cancel", None)
                cancelled = True
            time.sleep(0.05)
            _, job = ask(self.rig, "GET", path, None)
        reason = job["status"].get("errorResult", {}).get("reason")
        well = job["status"]["state"] == "DONE" and (reason is None or reason in ENDS)
        self.tally.check(well, f"{text[:200]}: {job['status']}")


def ask(rig: Rig, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, Any]:
    """One request; its answer's code and document."""
    status, content = rig.ask(method, PROJECT + path, body)
    return status, json.loads(content or b"{}")


def query(text: str) -> dict[str, Any]:
    """A request to run a query."""
    return {"query": text, "useLegacySql": False, "timeoutMs": 60_000}


def run(folder: Path, seconds: float) -> Tally:
    """Send them for about that long."""
    tally = Tally("queries")
    with Rig(folder / "queries", tally) as rig:
        reference = {"datasetReference": {"projectId": "torture", "datasetId": "d"}}
        ask(rig, "POST", "/datasets", reference)
        ask(rig, "POST", "/queries", query("CREATE TABLE d.t (x INT64)"))
        end = time.monotonic() + seconds
        clients = [Client(rig, number, end, tally) for number in range(1, CLIENTS + 1)]
        for client in clients:
            client.start()
        largest, kills = _watch(rig, end)
        for client in clients:
            client.join(150)
        tally.check(largest < LARGEST, f"the server has had {largest >> 20} MB")
        tally.done = f"{kills} kills of the process of queries, server at {largest >> 20} MB"
        _, answer = ask(rig, "POST", "/queries", query("SELECT x FROM d.t"))
        numbers = [int(row["f"][0]["v"]) for row in answer.get("rows", [])]
        for client in clients:
            if lost := set(client.rows) - set(numbers):
                tally.loses(f"rows {sorted(lost)[:5]}", len(lost))
            tally.survives(len(set(client.rows) & set(numbers)))
        sent = {row for client in clients for row in (*client.rows, *client.unsure)}
        tally.check(
            len(numbers) == len({*numbers} & sent), "rows are there twice, or were never sent"
        )
    return tally


def _watch(rig: Rig, end: float) -> tuple[int, int]:
    """Kill the process of queries now and then; the most memory of the server, and the kills."""
    server = psutil.Process(rig.home.address()["pid"])
    largest = kills = 0
    next_kill = time.monotonic() + 5
    while time.monotonic() < end:
        largest = max(largest, server.memory_info().rss)
        if time.monotonic() > next_kill:
            next_kill = time.monotonic() + 7
            kills += rig.kill_queries()
        time.sleep(0.05)
    return largest, kills
