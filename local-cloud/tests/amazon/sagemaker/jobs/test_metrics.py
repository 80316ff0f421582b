"""What a job's regular expressions find in its logs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.amazon.sagemaker.jobs import metrics, search
from local_cloud.engine.logs.log_timestamps import LONGEST, marks_path
from tests.amazon.sagemaker.support import go, running

RUNAWAY = {"Name": "m", "Regex": "(a+)+$"}  # 2**40 ways to cut forty letters
BAIT = "a" * 40 + "!"
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SAID = st.lists(st.tuples(st.integers(1, 9), NUMBERS), max_size=5)  # times, and values


def written(log: Path, said: Sequence[tuple[int, float]]) -> Path:
    """A log with these values, of these times."""
    size, marks = 0, []
    with log.open("wb") as file:
        for moment, value in said:
            size += file.write(f"loss={value!r};\n".encode())
            marks.append(f"{moment:.3f} {size}\n")
    marks_path(log).write_text("".join(marks))
    return log


class TestFinal:
    @settings(max_examples=20)  # each starts a process
    @given(SAID.map(sorted), SAID.map(sorted))
    def test_the_latest_line_counts_whichever_host_wrote_it(
        self, first: list[tuple[int, float]], second: list[tuple[int, float]]
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            logs = [written(Path(folder, f"{n}.log"), one) for n, one in enumerate((first, second))]
            values = metrics.final([{"Name": "loss", "Regex": "loss=(.*?);"}], logs, 60)
        if said := first + second:
            latest = max(moment for moment, _ in said)
            value = [value for moment, value in said if moment == latest][-1]
            assert values == [{"MetricName": "loss", "Value": value, "Timestamp": latest}]
        else:
            assert values == []

    def test_an_expression_that_does_not_end_is_given_up(self, tmp_path: Path) -> None:
        log = tmp_path / "0.log"
        log.write_text(BAIT)
        with pytest.raises(metrics.TooSlow, match="ran for more than 1 s"):
            metrics.final([RUNAWAY], [log], seconds=1)

    def test_then_the_job_ends_well_and_its_log_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(metrics, "SECONDS", 1)

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                algorithm = {"MetricDefinitions": [RUNAWAY]}
                job = await sagemaker.run(f"print({BAIT!r})", AlgorithmSpecification=algorithm)
                assert "FinalMetricDataList" not in job
                assert "MetricDefinitions: a regular expression ran" in sagemaker.log("a-job")

        go(story())


class TestSearch:
    @pytest.mark.parametrize(
        ("regex", "text", "value"),
        [
            ("loss=([0-9.]+)", "loss=1 loss=2", 2.0),
            ("[0-9.]+$", "loss 0.5", 0.5),
            ("loss=(.*)", "loss=nan", None),
            ("loss=(.*)", "loss=none", None),
            ("(?:loss=(.*))?x", "x", None),
        ],
    )
    def test_a_value_is_a_number_of_the_first_group(
        self, regex: str, text: str, value: float | None
    ) -> None:
        assert search.value(re.compile(regex), text) == value

    def test_a_line_is_found_again_by_its_place(self, tmp_path: Path) -> None:
        log = tmp_path / "0.log"
        log.write_bytes(b"x" * LONGEST + b"\nloss 1\n\xff\nloss 2\nend\n")
        patterns = [re.compile("loss ([0-9])"), re.compile("[3-9]")]
        (_, end, value) = search.latest(patterns, str(log), LONGEST)[0]
        assert value == 2.0
        assert log.read_bytes()[:end].endswith(b"\nloss 2\n")
        assert len(search.latest(patterns, str(log), LONGEST)) == 1

    def test_a_value_far_behind_in_a_long_line_and_one_behind_a_hole_have_their_times(
        self, tmp_path: Path
    ) -> None:
        """The parts of a long line and the holes of a sparse log are no lines of the marks."""
        log = tmp_path / "0.log"
        log.write_bytes(b"y\n" + b"x" * (3 * LONGEST) + b" loss 1\n")
        marks = [f"10.000 {log.stat().st_size}\n"]
        with log.open("ab") as file:
            file.truncate(1 << 40)
            file.write(b"\nloss 2\n")
        marks_path(log).write_text("".join([*marks, f"20.000 {log.stat().st_size}\n"]))
        assert metrics.series("loss ([0-9])", [log], 60) == [(10.0, 1.0), (20.0, 2.0)]
