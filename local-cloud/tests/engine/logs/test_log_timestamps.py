"""The times of a log's lines."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.logs import log_timestamps
from tests.engine.support import Cloud, engine, plan, python, run, until


def texts(log: Path, start: int = 0, *, ended: bool = True) -> list[str]:
    return [line.text for line in log_timestamps.lines(log, start, ended=ended)]


def written(log: Path, *pieces: str) -> None:
    with log.open("a", newline="") as file:
        file.write("".join(pieces))


def marked(log: Path, at: float) -> None:
    """Mark as log_timestamps.mark does, at a time of the test's own."""
    with log_timestamps.marks_path(log).open("a") as file:
        file.write(f"{at:.3f} {log.stat().st_size}\n")


class TestLines:
    def test_of_a_log_that_is_not_there(self, tmp_path: Path) -> None:
        assert texts(tmp_path / "no.log") == []
        log_timestamps.mark(tmp_path / "no.log")
        assert list(tmp_path.iterdir()) == []

    def test_count_as_written_when_the_log_was_first_seen_to_hold_them(
        self, tmp_path: Path
    ) -> None:
        log = tmp_path / "r0.log"
        written(log, "one\n", "two\n")
        marked(log, 100)
        written(log, "three\n", "fo")
        marked(log, 200)
        written(log, "ur\n")
        marked(log, 300)
        times = {line.text: line.time for line in log_timestamps.lines(log)}
        assert times == {"one": 100, "two": 100, "three": 200, "four": 300}

    def test_before_that_count_from_the_logs_own_time(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        written(log, "one\n")
        os.utime(log, (500, 500))
        (line,) = log_timestamps.lines(log)
        assert line.time == 500

    def test_the_last_is_held_back_until_it_is_whole(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        written(log, "one\n", "tw")
        assert texts(log, ended=False) == ["one"]
        assert texts(log) == ["one", "tw"]
        written(log, "o\n")
        assert texts(log, ended=False) == ["one", "two"]

    def test_go_on_from_where_the_last_one_ended(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        written(log, "ä\r\n", "two\n")
        first, second = log_timestamps.lines(log)
        assert (first.text, first.start, first.end) == ("ä", 0, 4)
        assert texts(log, first.end) == ["two"]
        assert texts(log, second.end) == []

    def test_survive_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        log.write_bytes(b"\xff\n")
        assert texts(log) == ["�"]

    def test_survive_a_mark_that_a_crash_cut_off(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        written(log, "one\n")
        marked(log, 100)
        with log_timestamps.marks_path(log).open("a") as file:
            file.write("200.0")
        (line,) = log_timestamps.lines(log)
        assert line.time == 100

    def test_one_that_is_too_long_counts_as_several(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        written(log, "x" * (log_timestamps.LONGEST + 5), "\n", "two\n")
        assert [*map(len, texts(log))] == [log_timestamps.LONGEST, 5, 3]
        written(log, "y" * log_timestamps.LONGEST, "y")
        assert [*map(len, texts(log, ended=False))] == [
            log_timestamps.LONGEST,
            5,
            3,
            log_timestamps.LONGEST,
        ]
        for line in log_timestamps.lines(log):
            for place in (line.start, line.end - 1):
                assert log_timestamps.line_start(log, place) == line.start

    def test_one_that_never_ends_is_found_without_reading_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its parts are the same from wherever one looks, forwards and backwards."""
        monkeypatch.setattr(log_timestamps, "LONGEST", 10)
        monkeypatch.setattr(log_timestamps, "BLOCK", 7)
        log = tmp_path / "r0.log"
        written(log, "one\n", "x" * 1234, "\n", "two\n")
        lines = list(log_timestamps.lines(log))
        assert "".join(line.text for line in lines) == f"one{'x' * 1234}two"
        for line in lines:
            assert line.end - line.start <= 10
            for place in range(line.start, line.end):
                assert log_timestamps.line_start(log, place) == line.start
            assert next(log_timestamps.lines(log, line.start)) == line
        assert list(log_timestamps.lines_before(log, log.stat().st_size)) == lines[::-1]

    @given(st.text(st.sampled_from("ab\n")), st.data())
    def test_backwards_are_those_forwards(self, text: str, data: st.DataObject) -> None:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(log_timestamps, "BLOCK", 3)
            log = Path(folder, "r0.log")
            log.write_text(text)
            lines = list(log_timestamps.lines(log))
            end = data.draw(st.sampled_from([0, *(line.end for line in lines)]))
            lines_back = list(log_timestamps.lines_before(log, end))
            assert lines_back == [line for line in lines if line.end <= end][::-1]

    # A log is written in pieces that need not be lines, and marked in between or not.
    @given(st.lists(st.tuples(st.text(st.sampled_from("ab\n")), st.booleans())))
    def test_are_the_log_and_their_times_never_go_back(
        self, pieces: Sequence[tuple[str, bool]]
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "r0.log")
            log.touch()
            known: dict[int, float] = {}  # the time of each byte, where it was marked
            for number, (piece, mark) in enumerate(pieces):
                written(log, piece)
                if mark:
                    marked(log, number)
                    for byte in range(max(known, default=-1) + 1, log.stat().st_size):
                        known[byte] = number
            lines = list(log_timestamps.lines(log))
            whole = log.read_text()
            whole += "\n" if whole and not whole.endswith("\n") else ""
            assert "".join(line.text + "\n" for line in lines) == whole
            assert [line.start for line in lines] == [0, *(line.end for line in lines)][:-1]
            for line in lines:
                assert line.time == known.get(line.end - 1, log.stat().st_mtime)
                for place in range(line.start, line.end):
                    assert log_timestamps.line_start(log, place) == line.start
            for moment in range(len(pieces) + 1):
                late = [line for line in lines if line.time >= moment]
                start = log_timestamps.since(log, moment)
                assert start in [0, *(line.start for line in lines), log.stat().st_size]
                assert [
                    line for line in log_timestamps.lines(log, start) if line.time >= moment
                ] == late
                assert sum(line.time < moment for line in log_timestamps.lines(log, start)) <= 1


class TestSparseLogs:
    """A job makes its log a terabyte long with one call; what it wrote around that is seen."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        log = tmp_path / "r0.log"
        written(log, "before\n", "half")
        for size in (1 << 40, 2 << 40):
            os.truncate(log, size)
            written(log, "\n", f"the word at {size >> 40}\n")
        os.truncate(log, 3 << 40)
        return log

    TEXTS = ("before", "half", "the word at 1", "the word at 2")

    def test_their_lines_are_what_was_written(self, log: Path) -> None:
        assert [text for text in texts(log) if text] == [*self.TEXTS]
        back = [line.text for line in log_timestamps.lines_before(log, log.stat().st_size)]
        assert [text for text in back if text] == [*self.TEXTS][::-1]

    def test_reading_goes_on_from_each_line_both_ways(self, log: Path) -> None:
        lines = list(log_timestamps.lines(log))
        assert list(log_timestamps.lines_before(log, log.stat().st_size)) == lines[::-1]
        for place, line in enumerate(lines):
            assert list(log_timestamps.lines(log, line.end)) == lines[place + 1 :]
            assert list(log_timestamps.lines_before(log, line.start)) == lines[:place][::-1]

    def test_they_are_searched_for_the_secret_and_marked(self, log: Path) -> None:
        asyncio.run(log_timestamps.finish([log], b"word"))
        assert [text for text in texts(log) if "SECR" in text] == ["the SECR at 1", "the SECR at 2"]
        assert log_timestamps.Marks(log).last() == (pytest.approx(time.time(), abs=60), 3 << 40)

    def test_what_a_killed_server_left_is_searched_when_it_is_read(self, log: Path) -> None:
        os.utime(log, (500, 500))
        assert log_timestamps.mark_readable(log, b"word", ended=True) == log_timestamps.ALL
        assert [line.time for line in log_timestamps.lines(log)] == [500] * len(texts(log))
        assert not any("word" in text for text in texts(log))


def test_a_reader_waits_for_a_part_of_the_search_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not searched yet is not shown yet, and the next reader gets on."""
    monkeypatch.setattr(log_timestamps, "PIECE", 10)
    monkeypatch.setattr(log_timestamps, "READER_PIECES", 2)
    log = tmp_path / "r0.log"
    written(log, "a word\n" * 6)
    shown = [log_timestamps.mark_readable(log, b"word", ended=True) for _ in range(3)]
    assert shown == [16, 30, log_timestamps.ALL]  # but for what may begin the word
    assert log.read_text() == "a SECR\n" * 6


def test_where_no_mark_can_be_written_the_search_ends_and_what_was_searched_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "r0.log"
    written(log, "a word\n" * 6)
    log_timestamps.marks_path(log).mkdir()  # as a full disk does, it takes no line
    assert log_timestamps.mark_readable(log, b"word", ended=True) == log_timestamps.ALL
    assert log.read_text() == "a SECR\n" * 6
    monkeypatch.setattr(log_timestamps, "PIECE", 10)
    assert log_timestamps.mark_readable(log, b"word", ended=True) == 10
    asyncio.run(asyncio.wait_for(log_timestamps.finish([log], b"word"), 30))


def test_long_lines_are_read_when_they_are_wanted(tmp_path: Path) -> None:
    """Many logs are read side by side, and memory holds no long line of each."""
    log = tmp_path / "r0.log"
    long = "x" * 500_000
    written(log, "short\n", f"{long}\n", "short\n")
    lines = list(log_timestamps.lines(log))
    assert [line.text for line in lines] == ["short", long, "short"]
    assert all(len(line.raw or b"") <= log_timestamps.BLOCK for line in lines)


class TestMark:
    def test_says_nothing_twice(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        written(log, "one\n")
        log_timestamps.mark(log)
        log_timestamps.mark(log)
        assert len(log_timestamps.marks_path(log).read_text().splitlines()) == 1
        written(log, "two\n")
        log_timestamps.mark(log)
        assert len(log_timestamps.marks_path(log).read_text().splitlines()) == 2

    @given(st.lists(st.sampled_from([b"word", b"wo", b"rd", b"x" * 70_000, b"w"])), st.data())
    def test_what_is_hidden_is_nowhere_in_what_has_been_marked(
        self, pieces: list[bytes], data: st.DataObject
    ) -> None:
        """However the log grew, across blocks too; all else stays, and the length with it."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "r0.log")
            log.touch()
            for piece in pieces:
                with log.open("ab") as file:
                    file.write(piece)
                if data.draw(st.booleans()):
                    log_timestamps.mark(log, b"word")
            log_timestamps.mark(log, b"word")
            assert log.read_bytes() == b"".join(pieces).replace(b"word", b"SECR")

    @given(
        st.lists(st.sampled_from([b"word", b"wo", b"rd\n", b"x" * 7, b"w"])),
        st.integers(4, 9),
        st.data(),
    )
    def test_what_may_be_shown_of_a_running_log_holds_nothing_hidden_and_no_part_of_it(
        self, written: list[bytes], piece: int, data: st.DataObject
    ) -> None:
        """Wherever a piece of the search ends, and whatever the replica has got to."""
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(log_timestamps, "PIECE", piece)
            patch.setattr(log_timestamps, "SEARCHED", 5)
            log = Path(folder, "r0.log")
            log.touch()
            whole = b"".join(written)
            expected = whole.replace(b"word", b"SECR")
            for each in written:
                with log.open("ab") as file:
                    file.write(each)
                if data.draw(st.booleans()):
                    shown = log_timestamps.mark_readable(log, b"word", ended=False)
                    assert log.read_bytes()[:shown] == expected[:shown]
            while log_timestamps.mark(log, b"word"):
                pass
            assert log.read_bytes() == expected
            last = log_timestamps.Marks(log).last()
            assert (last[1] if last else 0) == len(whole)

    def test_a_clock_that_is_set_back_does_not_change_the_order_of_lines(
        self, tmp_path: Path
    ) -> None:
        log = tmp_path / "r0.log"
        written(log, "one\n")
        log_timestamps.mark(log, at=500)
        written(log, "two\n")
        log_timestamps.mark(log, at=100)
        assert [line.time for line in log_timestamps.lines(log)] == [500, 500]

    def test_a_flood_is_searched_in_a_thread_and_the_loop_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = tmp_path / "r0.log"
        written(log, "one\n")
        went_on = threading.Event()
        hide = log_timestamps._hide

        def slowly(*facts: Any, **named: Any) -> None:
            assert went_on.wait(30), "the loop stands still while a log is searched"
            hide(*facts, **named)

        monkeypatch.setattr(log_timestamps, "_hide", slowly)

        async def story() -> None:
            asyncio.get_running_loop().call_later(0.01, went_on.set)
            await log_timestamps.finish([log], b"word")

        asyncio.run(story())
        assert log_timestamps.Marks(log).last()

    def test_what_a_killed_server_left_is_searched_and_keeps_its_time(self, tmp_path: Path) -> None:
        log = tmp_path / "r0.log"
        written(log, "the word\n")
        os.utime(log, (500, 500))
        asyncio.run(log_timestamps.recover([log, tmp_path / "gone.log"], b"word"))
        (line,) = log_timestamps.lines(log)
        assert (line.text, line.time) == ("the SECR", 500)

    def test_a_running_jobs_lines_are_marked(self, tmp_path: Path) -> None:
        code = "import time; print('one', flush=True); time.sleep(1.2); print('two')"

        async def story() -> None:
            began = time.time()
            async with engine(tmp_path, Cloud(a=plan(python(code)))) as here:
                here.submit("cloud", "a", 1)
                job = await until(here, "a")
                one, two = log_timestamps.lines(here.log("a", "r0"))
                assert job.ended
                assert began < one.time < two.time <= job.ended

        run(story())
