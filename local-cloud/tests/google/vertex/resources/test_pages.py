"""Pages of resources: filtered, ordered, of so many bytes, and whole only where they are shown."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from local_cloud.google import rest
from local_cloud.google.vertex.resources import documents
from local_cloud.store.records import Records

PLACE = "projects/1/locations/us-central1/things"


@pytest.fixture
def records(tmp_path: Path) -> Records:
    """Thirty things of a megabyte each, the last one of which is the newest."""
    made = Records(tmp_path / "records.db")
    with made.transaction():
        for number in range(30):
            thing = {
                "name": f"{PLACE}/{number:02}",
                "displayName": f"{'even' if number % 2 == 0 else 'odd'} {30 - number:02}",
                "createTime": f"2026-11-28T10:00:{number:02}Z",
                "text": "x" * (1 << 20),
            }
            made.put("vertex", thing["name"], thing)
    return made


def listed(records: Records, **query: str) -> list[list[str]]:
    """The ends of the names on each page."""
    pages, token = [], ""
    while True:
        asked = query | {"pageToken": token}
        documents_of_page, token = documents.page(records, PLACE, query=asked, render=dict)
        assert all(
            set(each) == {"name", "displayName", "createTime", "text"} for each in documents_of_page
        )
        pages.append([each["name"][-2:] for each in documents_of_page])
        if not token:
            return pages


def test_a_page_has_so_many_bytes_at_most(records: Records) -> None:
    pages = listed(records, pageSize="1000000")
    assert [len(page) for page in pages] == [9, 9, 9, 3]
    names = [name for page in pages for name in page]
    assert names == [f"{number:02}" for number in reversed(range(30))]


def test_of_those_that_pass_in_the_order_that_is_asked_for(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "PAGE_BYTES", 1 << 40)
    even = {"filter": 'displayName:"even"', "orderBy": "display_name"}
    names = [f"{number:02}" for number in reversed(range(0, 30, 2))]
    assert listed(records, **even, pageSize="4") == [names[n : n + 4] for n in range(0, 15, 4)]
    down = even | {"orderBy": "displayName desc"}
    assert listed(records, **down) == [names[::-1]]


def test_memory_holds_a_page_and_not_the_list(records: Records) -> None:
    query: dict[str, Any] = {"pageSize": "2", "filter": 'displayName:"odd"'}
    tracemalloc.start()
    try:
        documents.page(records, PLACE, query=query, render=dict)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
