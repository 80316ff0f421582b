"""Steps are timed alone and together, and the crossover is read from the times."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lesson import LessonError
from lesson.machines import scaling
from lesson.show import plots


def test_steps_are_timed_alone_and_on_two_replicas(capsys: pytest.CaptureFixture[str]) -> None:
    table = scaling.measure([(3, [4]), (2000, [16, 8])])
    assert table["hidden"].tolist() == ["[4]", "[16, 8]"] and table["rows"].tolist() == [3, 2000]
    assert table["weights"].tolist() == [7 * 4 + 4 + 4 + 1, 7 * 16 + 16 + 16 * 8 + 8 + 8 + 1]
    times = table[["alone", "parts", "together", "exchange"]]
    assert (times > 0).all(axis=None) and (times < 60_000).all(axis=None)
    assert table["speed_up"].tolist() == (table["alone"] / table["together"]).tolist()
    assert capsys.readouterr().out.startswith("[4], 3 rows: alone ")


def test_a_replica_that_fails_is_said_in_one_sentence() -> None:
    with pytest.raises(LessonError, match=r"a replica that was to be timed has ended: .*Error"):
        scaling.measure([(4, [-1])])


@pytest.mark.parametrize(
    "rows, speed_ups, expected",
    [
        ([10, 100, 1000], [0.5, 1.5, 1.8], 10**1.5),  # half-way, as the picture's axis has it
        ([10, 100, 1000], [0.5, 0.8, 1.0], None),
        ([10, 100, 1000], [1.1, 1.2, 1.3], 10),
        ([10, 100, 1000], [1.2, 0.5, 1.5], 10**2.5),  # the first was by chance
        ([10, 100, 1000], [0.5, 1.0, 1.5], 100),
    ],
)
def test_the_crossover_is_where_the_speed_up_stays_above_1(
    rows: list[float], speed_ups: list[float], expected: float | None
) -> None:
    crossover = scaling.crossover(rows, speed_ups)
    assert crossover is None if expected is None else crossover == pytest.approx(expected)


def test_speed_ups_are_drawn_and_told_in_words(tmp_path: Path) -> None:
    times = pd.DataFrame(
        {
            "hidden": ["[4]"] * 3 + ["[9, 9]"] * 3,
            "rows": [10, 100, 1000] * 2,
            "speed_up": [0.5, 1.5, 1.8, 0.1, 0.2, 0.3],
        }
    )
    picture = plots.speed_ups(times, tmp_path / "a" / "speed_up.png")
    assert picture.path.read_bytes().startswith(b"\x89PNG")
    assert picture.alt == (
        "Speed-up over rows per step: hidden layers [4] from 0.50 with 10 rows to 1.80 with 1,000, "
        "above 1 from about 32 rows on; hidden layers [9, 9] from 0.10 with 10 rows to 0.30 with "
        "1,000, not above 1."
    )
    predicted = plots.speed_ups(times.assign(predicted=1.0), tmp_path / "predicted.png")
    assert predicted.path.stat().st_size > picture.path.stat().st_size
