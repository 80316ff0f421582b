"""The marks of a log are found without reading them all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.engine.logs.log_marks import Marks

STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10**9)), max_size=200)


@given(STEPS, st.integers(0, 200), st.booleans())
def test_they_are_those_that_reading_all_would_find(
    steps: list[tuple[int, int]], moment: int, cut_off: bool
) -> None:
    """Times may stand still, sizes only grow; a crash may have cut off the last one."""
    with tempfile.TemporaryDirectory() as folder:
        marks = Marks(Path(folder, "r0.log"))
        known: list[tuple[float, int]] = []
        seen = size = 0
        for passed, more in steps:
            seen, size = seen + passed, size + more
            marks.add((float(seen), size))
            known.append((float(seen), size))
        if cut_off:
            with marks.path.open("ab") as file:
                file.write(b"99999.0")
        assert (marks.first(), marks.last()) == ((known[0], known[-1]) if known else (None, None))
        for wanted in {0, 1, size // 2, size, size + 1, *(each for _, each in known[:5])}:
            assert [*marks.from_size(wanted)] == [one for one in known if one[1] >= wanted]
        earlier = [each for when, each in known if when < moment]
        assert marks.before(moment) == (earlier[-1] if earlier else 0)


def test_one_that_a_crash_has_cut_off_is_no_part_of_the_next(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "r0.log")
    marks.add((100.0, 4))
    with marks.path.open("ab") as file:
        file.write(b"200.0")
    marks.add((300.0, 8))
    assert [*marks.from_size(0)] == [(100.0, 4), (300.0, 8)]


def test_after_a_day_of_log_a_few_kilobytes_of_them_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = Marks(tmp_path / "r0.log")
    marks.path.write_text("".join(f"{1e9 + n / 2:.3f} {n * 100}\n" for n in range(1, 172_801)))
    read: list[int] = []
    pread = os.pread

    def counted(file: int, most: int, place: int) -> bytes:
        content = pread(file, most, place)
        read.append(len(content))
        return content

    monkeypatch.setattr(os, "pread", counted)
    assert marks.last() == (1e9 + 86_400, 17_280_000)
    assert next(marks.from_size(5_000_050)) == (1e9 + 25_000.5, 5_000_100)
    assert marks.before(1e9 + 100) == 19_900
    assert sum(read) < 500_000


def test_what_a_job_writes_there_itself_is_left_out(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "r0.log")
    marks.add((100.0, 4))
    with marks.path.open("ab") as file:
        file.write(b"nan 5\n\n1 2 3\n" + b"9" * 30 + b".000 5\n")
    marks.add((300.0, 8))
    assert [*marks.from_size(0)] == [(100.0, 4), (300.0, 8)]
    assert marks.last() == (300.0, 8)


def test_a_pipe_in_their_place_holds_nobody_up(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "r0.log")
    os.mkfifo(marks.path)
    marks.add((100.0, 4))
    assert marks.last() is None and marks.before(1e9) == 0
