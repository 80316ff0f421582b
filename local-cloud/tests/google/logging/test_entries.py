"""Pages of log entries: windows of the logs, whose tokens lead on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_cloud.engine.logs import log_timestamps
from local_cloud.engine.logs.log_marks import Marks
from local_cloud.google.filters import InvalidFilter
from local_cloud.google.logging import service
from local_cloud.google.projects import project_number

START = 1_700_000_000.0
NUMBER = project_number("here")
OTHER = project_number("there")


class Logs:
    """What the service reads: ended jobs, whose replicas wrote a line in each second."""

    def __init__(self, folder: Path, projects: dict[str, str]) -> None:
        """projects: the number of each job's."""
        self.folder = folder
        state = SimpleNamespace(ended=True)
        jobs = [SimpleNamespace(id=job, dialect="vertex", state=state) for job in projects]
        self.engine = SimpleNamespace(jobs=lambda: iter(jobs), logs=self.logs, hidden=b"")
        records = {job: {"name": f"projects/{projects[job]}/customJobs/{job}"} for job in projects}
        records |= {number: {"id": "here"} for number in projects.values()}
        self.records = SimpleNamespace(get=lambda kind, name: records[name])

    def logs(self, job: str) -> dict[str, Path]:
        return {path.stem: path for path in sorted((self.folder / job).glob("*.log"))}

    def write(self, job: str, replica: str, lines: dict[int, str]) -> None:
        (self.folder / job).mkdir(exist_ok=True)
        log = self.folder / job / f"{replica}.log"
        for second, line in lines.items():
            with log.open("a") as file:
                file.write(f"{line}\n")
            Marks(log).add((START + second, log.stat().st_size))


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    written_logs = Logs(tmp_path, {"1": NUMBER, "2": NUMBER, "3": OTHER})
    written_logs.write("1", "a", {n: f"1 a {n}" for n in range(0, 40, 2)})
    written_logs.write("1", "b", {n: f"1 b {n}" for n in range(1, 40, 2)})
    written_logs.write("2", "a", {n: f"2 a {n}" for n in range(10, 20)})
    written_logs.write("3", "a", {1: "elsewhere"})
    return written_logs


def listed(logs: Logs, **body: Any) -> list[str]:
    """The texts of all pages."""
    texts: list[str] = []
    token = ""
    while True:
        asked = {"resourceNames": ["projects/here"], "pageToken": token, **body}
        page = service._page(logs, asked)  # type: ignore[arg-type]
        texts += [entry["textPayload"] for entry in page["entries"]]
        if not (token := page.get("nextPageToken", "")):
            return texts


def at(second: float) -> str:
    return f"{datetime.fromtimestamp(START + second, UTC):%Y-%m-%dT%H:%M:%S.%f000Z}"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_pages_hold_each_entry_once_in_the_order_of_their_times(logs: Logs, size: int) -> None:
    texts = listed(logs, pageSize=size)
    assert len(texts) == 50 and len({*texts}) == 50
    seconds = [int(text.split()[-1]) for text in texts]
    assert seconds == sorted(seconds)
    assert listed(logs, pageSize=size, orderBy="timestamp desc") == texts[::-1]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_filter_chooses_among_them(logs: Logs, order: str) -> None:
    def search(text: str) -> list[str]:
        texts = listed(logs, filter=text, orderBy=f"timestamp {order}", pageSize=3)
        return texts if order == "asc" else texts[::-1]

    assert search('resource.labels.job_id="2"') == [f"2 a {n}" for n in range(10, 20)]
    between = f'timestamp>="{at(12)}" AND timestamp<"{at(15)}"'
    assert search(f'resource.labels.job_id="2" AND {between}') == ["2 a 12", "2 a 13", "2 a 14"]
    assert search('textPayload:"1 b 3"') == [f"1 b {n}" for n in (3, 31, 33, 35, 37, 39)]
    assert search(f'(textPayload="2 a 11" OR timestamp>"{at(38)}")') == ["2 a 11", "1 b 39"]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_page_is_given_up_where_too_many_lines_do_not_pass(
    logs: Logs, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_SEARCHED", 4)
    asked = {"resourceNames": ["projects/here"], "filter": 'textPayload:"no such"'}
    page = service._page(logs, asked)  # type: ignore[arg-type]
    assert page["entries"] == [] and page["nextPageToken"]
    assert listed(logs, filter='textPayload="2 a 15"', orderBy=f"timestamp {order}") == ["2 a 15"]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_page_has_so_many_bytes_at_most_and_the_next_one_goes_on(
    logs: Logs, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros, which have six characters each in JSON, count as what is sent."""
    monkeypatch.setattr(service, "PAGE_BYTES", 1_000_000)
    long = {n: f"{n} long {'x' * 200_000}\0{'y' * 9_000}" for n in range(50, 80)}
    logs.write("1", "a", long)
    asked = {"resourceNames": ["projects/here"], "orderBy": f"timestamp {order}"}
    texts, token, pages = [], "", 0
    while token or not pages:
        page = service._page(logs, asked | {"pageToken": token})  # type: ignore[arg-type]
        assert len(json.dumps(page["entries"])) <= service.PAGE_BYTES * 1.001
        texts += [entry["textPayload"] for entry in page["entries"]]
        token, pages = page.get("nextPageToken", ""), pages + 1
        monkeypatch.setattr(service, "PAGE_BYTES", 1_000_000)
    assert pages > 5
    assert [text for text in texts if "long" in text][:: 1 if order == "asc" else -1] == [
        *long.values()
    ]


def test_one_entry_is_on_a_page_however_long_it_is(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PAGE_BYTES", 1)
    assert len(listed(logs)) == 50


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_page_is_given_up_where_too_many_bytes_do_not_pass(
    logs: Logs, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_BYTES_SEARCHED", 20)
    asked = {"resourceNames": ["projects/here"], "filter": 'textPayload:"no such"'}
    page = service._page(logs, asked)  # type: ignore[arg-type]
    assert page["entries"] == [] and page["nextPageToken"]
    assert listed(logs, filter='textPayload="2 a 15"', orderBy=f"timestamp {order}") == ["2 a 15"]


def test_only_the_window_that_the_filter_allows_is_read(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.write("1", "a", {n: "x" * 10_000 for n in range(100, 200)})
    read: list[int] = []
    block = log_timestamps._block

    def counted(log: Path, start: int, *, ended: bool) -> list[bytes]:
        read.append(sum(map(len, lines := block(log, start, ended=ended))))
        return lines

    monkeypatch.setattr(log_timestamps, "_block", counted)
    assert listed(logs, filter=f'timestamp>"{at(198)}"') == ["x" * 10_000]
    assert sum(read) < 100_000


@pytest.mark.parametrize("token", ["7", "bm9uZQ==", "eyJhIjotMX0="])
def test_a_token_that_was_never_given_is_refused(logs: Logs, token: str) -> None:
    with pytest.raises(InvalidFilter, match="is none that an answer had"):
        listed(logs, pageToken=token)
