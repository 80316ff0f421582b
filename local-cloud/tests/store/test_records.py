"""Documents by kind and name, whole or not at all, also when several threads write."""

from __future__ import annotations

import os
import sqlite3
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cloud.store.errors import DamagedStore
from local_cloud.store.records import Records


def test_a_document_is_there_until_it_is_deleted(records: Records) -> None:
    assert records.get("job", "1") is None
    records.put("job", "1", {"state": "queued", "note": "é \ud800"})
    records.put("job", "1", {"state": "running"})
    assert records.get("job", "1") == {"state": "running"}
    records.delete("job", "1")
    assert records.get("job", "1") is None


def test_documents_are_listed_by_the_bytes_of_their_names(records: Records) -> None:
    for name in ["b", "a/2", "é", "😀", "\uffff", "a/10", "a"]:
        records.put("job", name, {"name": name})
    records.put("other", "a/1", {})
    assert [name for name, _ in records.list("job")] == [
        "a",
        "a/10",
        "a/2",
        "b",
        "é",
        "\uffff",
        "😀",
    ]
    assert list(records.list("job", "a/")) == [("a/10", {"name": "a/10"}), ("a/2", {"name": "a/2"})]


def test_a_long_list_is_read_in_pages_while_others_write(records: Records) -> None:
    with records.transaction():
        for number in range(1200):
            records.put("job", f"{number:05}", {"number": number})
    seen = []
    for name, document in records.list("job"):
        seen.append(document["number"])
        records.delete("job", name)
    assert seen == list(range(1200))


def test_a_list_of_long_documents_is_read_a_few_at_a_time(records: Records) -> None:
    """However many there are: memory holds those of a page, and of one more document."""
    with records.transaction():
        for number in range(40):
            records.put("job", f"{number:05}", {"number": number, "text": "x" * (1 << 20)})
    tracemalloc.start()
    try:
        assert [document["number"] for _, document in records.list("job")] == list(range(40))
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_what_begins_with_a_prefix_is_removed_and_nothing_else(records: Records) -> None:
    for name in ["a", "a/", "a/1", "a/\uffff", "a0", "b/a/"]:
        records.put("job", name, {})
    records.put("other", "a/1", {})
    records.delete_below("job", "a/")
    assert [name for name, _ in records.list("job")] == ["a", "a0", "b/a/"]
    assert records.get("other", "a/1") == {}


def test_clear_removes_one_kind(records: Records) -> None:
    records.put("a", "1", {})
    records.put("b", "1", {})
    records.clear("a")
    assert (records.get("a", "1"), records.get("b", "1")) == (None, {})


def test_a_transaction_that_raises_leaves_no_trace(records: Records) -> None:
    records.put("job", "1", {"state": "queued"})
    with pytest.raises(KeyError), records.transaction():
        records.put("job", "1", {"state": "running"})
        records.put("job", "2", {})
        raise KeyError
    assert list(records.list("job")) == [("1", {"state": "queued"})]


def test_what_waits_for_a_transaction_happens_once_that_is_on_the_disk(records: Records) -> None:
    done: list[str] = []
    records.when_written(lambda: done.append("at once"))
    with records.transaction():
        records.put("job", "1", {})
        with records.transaction():  # a part of the other
            records.when_written(lambda: done.append("later"))
        assert done == ["at once"]
    assert done == ["at once", "later"]
    with pytest.raises(KeyError), records.transaction():
        records.when_written(lambda: done.append("never"))
        raise KeyError
    with records.transaction():
        records.put("job", "2", {})
    assert done == ["at once", "later"]


def test_what_waits_for_the_end_of_a_transaction_happens_though_that_is_rolled_back(
    records: Records,
) -> None:
    records.put("job", "a", {"state": "queued"})
    with pytest.raises(KeyError), records.transaction():
        records.delete("job", "a")
        records.at_end(lambda: records.put("job", "b", {}))
        raise KeyError
    assert [name for name, _ in records.list("job")] == ["a", "b"]
    done: list[str] = []
    records.at_end(lambda: done.append("at once"))
    assert done == ["at once"]


def test_a_transaction_for_which_there_is_no_room_leaves_no_trace(records: Records) -> None:
    done: list[str] = []
    (pages,) = records._database.execute("PRAGMA page_count").fetchone()
    records._database.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(sqlite3.OperationalError, match="full"), records.transaction():
        records.put("job", "1", {})
        records.when_written(lambda: done.append("written"))
        records.put("job", "2", {"much": "x" * 100_000})
    assert (done, list(records.list("job"))) == ([], [])
    records._database.execute("PRAGMA max_page_count = 1000000")
    with records.transaction():
        records.put("job", "2", {"much": "x" * 100_000})
    assert len(list(records.list("job"))) == 1


def test_several_threads_write_at_once(records: Records) -> None:
    def count(_: int) -> None:
        with records.transaction():
            document = records.get("counter", "c") or {"n": 0}
            records.put("counter", "c", {"n": document["n"] + 1})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(100)))
    assert records.get("counter", "c") == {"n": 100}


def test_a_file_that_is_no_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "records.db").write_bytes(b"x" * 5000)
    with pytest.raises(DamagedStore, match=r"records\.db"):
        Records(tmp_path / "records.db")
    assert (tmp_path / "records.db").read_bytes() == b"x" * 5000


def test_documents_outlive_the_process(tmp_path: Path) -> None:
    for expected in (None, {"n": 1}):
        records = Records(tmp_path / "new/folder/records.sqlite")
        assert records.get("a", "1") == expected
        records.put("a", "1", {"n": 1})
        records.close()
        # SQLite removes its log when a file is closed, and all is in the file.
        assert os.listdir(tmp_path / "new/folder") == ["records.sqlite"]
