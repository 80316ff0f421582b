"""Models side by side: scores, intervals, and what a difference is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy import stats

from lesson import LessonError, baselines
from lesson.baselines import Baseline, interval, judge, sign_test


def answers(right: int, rows: int = 179, name: str = "model") -> Baseline:
    return Baseline(name, tuple(place < right for place in range(rows)))


@pytest.mark.parametrize(("right", "rows"), [(146, 179), (0, 20), (20, 20), (1, 2), (700, 1000)])
def test_the_interval_is_wilsons(right: int, rows: int) -> None:
    theirs = stats.binomtest(right, rows).proportion_ci(method="wilson")
    assert interval(right, rows) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_answers_are_compared_by_what_they_say() -> None:
    judged = judge(
        "a service", ["1", "0", 1.0, True, "yes"], [1, 1, 1, 1, "yes "], seconds=2.5, cost=0.01
    )
    assert judged.right == (True, False, True, True, True)
    assert judged.accuracy == 0.8
    with pytest.raises(LessonError, match="2 answers for 3 rows"):
        judge("short", [1, 0], [1, 0, 1])
    with pytest.raises(LessonError, match="0 answers"):
        judge("nothing", [], [])


def test_batch_predictions_are_found_by_their_key() -> None:
    lines = [
        json.dumps(
            {
                "instance": {"PassengerId": number},
                "prediction": {"classes": ["0", "1"], "scores": [1 - score, score]},
            }
        )
        for number, score in ((7, 0.9), (3, 0.1))
    ]
    assert baselines.in_order(lines, "PassengerId", [3, 7]) == ["0", "1"]
    with pytest.raises(LessonError, match="no prediction for PassengerId 4"):
        baselines.in_order(lines, "PassengerId", [3, 4])


def test_only_rows_on_which_one_is_right_tell_two_models_apart() -> None:
    one = Baseline("one", (True,) * 9 + (False,) + (True,) * 100)
    other = Baseline("other", (False,) * 9 + (True,) + (True,) * 100)
    assert sign_test(one, other) == sign_test(other, one)
    assert sign_test(one, other) == pytest.approx(stats.binomtest(9, 10).pvalue)
    assert sign_test(one, one) == 1
    with pytest.raises(LessonError, match="different rows"):
        sign_test(one, answers(3))


def test_the_table_has_the_best_first() -> None:
    table = baselines.table([answers(140, name="logistic"), answers(146, name="trees")])
    assert list(table.index) == ["trees", "logistic"]
    assert table.loc["trees", "accuracy"] == 0.816
    assert table.loc["trees", "low"] < table.loc["logistic", "accuracy"]
    assert table["cost"].isna().all()


def test_the_picture_says_what_it_shows(tmp_path: Path) -> None:
    models = [answers(140, name="logistic"), answers(146, name="trees")]
    picture = baselines.plot(models, tmp_path / "new/baselines.png")
    assert picture.path.stat().st_size > 5000
    assert picture.alt == (
        "Accuracies on 179 test rows with their intervals. trees 0.816, from 0.752 to 0.866;"
        " logistic 0.782, from 0.716 to 0.836."
    )
