"""Load comes from several clients at a time, and what happens meanwhile is recorded."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from lesson import LessonError
from lesson.machines import load


def test_so_many_clients_ask_at_a_time() -> None:
    together = threading.Barrier(3)  # nobody gets past it alone
    asked = threading.Event()

    def ask() -> None:
        if not asked.is_set():
            together.wait(30)
            asked.set()

    took = load.send(ask, clients=3, seconds=0.01)
    assert len(took) >= 3 and min(took) >= 0


def test_what_a_request_raises_ends_the_load() -> None:
    def ask() -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        load.send(ask, clients=3, seconds=600)


def test_changes_are_recorded_until_it_is_stopped(tmp_path: Path) -> None:
    count = 1
    watch = load.Watch(lambda: count, pause=0.001)
    for count in (1, 2, 1):
        watch.wait_for(count)
    with pytest.raises(LessonError, match="it is 1, not 5"):
        watch.wait_for(5, seconds=0.01)
    seen = watch.stop()
    assert [number for _, number in seen] == [1, 2, 1, 1]
    times = [when for when, _ in seen]
    assert times == sorted(times)
    picture = load.plot([(0.0, 1), (2.5, 2), (9.0, 1), (12.0, 1)], 6, tmp_path / "a" / "b.png")
    assert picture.path.stat().st_size > 5_000
    assert picture.alt.startswith("Replicas over time: 1 at 0 s, 2 at 2.5 s, 1 at 9 s.")


def test_a_look_that_fails_is_told() -> None:
    def look() -> int:
        raise ValueError("nowhere")

    watch = load.Watch(look, pause=0.001)
    with pytest.raises(LessonError, match="nowhere"):
        watch.wait_for(1)
    with pytest.raises(LessonError, match="nowhere"):
        watch.stop()
