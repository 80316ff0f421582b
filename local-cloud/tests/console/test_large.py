"""A thousand jobs, a log of a hundred thousand lines: pages show a part, and ask for the rest."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.console.pages.job_list import PAGE
from local_cloud.console.records import logs
from local_cloud.engine.jobs.job_table import KIND
from local_cloud.engine.processes.replica import log_path
from local_cloud.engine.spec import Attempt, Job, Outcome, State
from local_cloud.store.records import Records
from testing.visitor import Visitor

JOBS, LINES = 1000, 100_000
LAST = "job-0999"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Somebody at a local cloud that has run for long."""
    home = Home(tmp_path_factory.mktemp("large") / "home")
    home.make()
    records = Records(home.data / "records.sqlite")
    now = time.time()
    outcome = Outcome(State.SUCCEEDED, "succeeded", "")
    with records.transaction():
        for number in range(JOBS):
            sent = now - JOBS + number
            times = {"created": sent, "started": sent + 0.1, "ended": sent + 0.9}
            tried = (Attempt(sent, sent + 0.1, None, sent + 0.9),)
            job = Job(
                f"job-{number:04}",
                "sagemaker",
                1,
                State.SUCCEEDED,
                **times,
                turn=number + 1,
                outcome=outcome,
                attempts=tried,
            )
            records.put(KIND, job.id, job.document())
            request = {"request": {"TrainingJobName": job.id}, "note": "", "tuning": ""}
            records.put("training-job", job.id, request)
    records.close()
    log = log_path(home.data / "jobs" / LAST, "algo-1")
    log.parent.mkdir(parents=True)
    line = "epoch {0}  loss {1:.4f}  accuracy 0.8000\n"
    log.write_text("".join(line.format(each, 1 + 1 / each) for each in range(1, LINES + 1)))
    server = control.start(home)
    yield Visitor.of(server)
    control.stop(home)


def test_a_thousand_jobs_come_in_pages(large: Visitor) -> None:
    first = large.get("/console/jobs")
    assert f"{JOBS} of {JOBS} jobs" in first and LAST in first
    assert first.text.count("<tr>") == PAGE + 1
    last = large.get(f"/console/jobs?page={JOBS // PAGE}")
    assert "job-0000" in last and LAST not in last
    assert "1 of 1000 jobs" in large.get("/console/jobs?q=0421")


def test_a_long_log_opens_at_its_end_and_is_read_on_and_back(large: Visitor) -> None:
    page = large.get(f"/console/jobs/{LAST}").text
    assert f"epoch {LINES}  " in page and "epoch 1  " not in page
    assert len(page) < 6 * logs.PIECE
    assert f'"Loss, to epoch {LINES}: loss 1"' in page
    (start,) = map(int, re.findall(r'data-start="(\d+)"', page))
    source = f"/console/jobs/{LAST}/log?replica=algo-1"
    lines: list[str] = []
    while start > 0:
        content = json.loads(large.get(f"{source}&before={start}").text)
        assert content["start"] < start
        texts = [line["text"] for line in content["lines"]]
        lines, start = texts + lines, content["start"]
    assert lines[0].startswith("epoch 1 ")
    numbers = [int(line.split()[1]) for line in lines]
    assert numbers == list(range(1, len(numbers) + 1)), "no line is left out or comes twice"
    onward = json.loads(large.get(f"{source}&from=0").text)
    assert onward["more"] and onward["lines"][0]["text"].startswith("epoch 1 ")
    assert json.loads(large.get(f"{source}&from={10**9}").text)["lines"] == []


def test_lines_longer_than_a_piece_come_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a" * 3 * logs.PIECE + b"\n" + b"b\n" * 10)
    start = logs.tail(log)
    piece = logs.piece(log, start, ended=True)
    assert piece["start"] in (0, 3 * logs.PIECE + 1) and piece["next"] > 3 * logs.PIECE
