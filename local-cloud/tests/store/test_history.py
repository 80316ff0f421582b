"""What a bucket has held is added up, for a bill that comes after it was deleted."""

from __future__ import annotations

from local_cloud.store import history
from local_cloud.store.history import Held
from local_cloud.store.records import Records


def test_bytes_count_for_as_long_as_they_were_held(records: Records) -> None:
    history.add(records, "k", size=10, since=100.0, until=107.0)
    history.add(records, "k", size=3, since=90.0, until=92.0)
    history.add(records, "k", size=1000, since=95.0, until=94.0)  # the clock was set back
    history.add(records, "other", size=1, since=5.0, until=6.0)
    assert list(history.list_held(records)) == [
        ("k", Held(76.0, since=90.0, until=107.0)),
        ("other", Held(1.0, since=5.0, until=6.0)),
    ]
