"""Studies: what may be tried, the trials as a table, and how they are shown while they run."""

from __future__ import annotations

import io
import os
import pty
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lesson import LessonError
from lesson.jobs import studies, tuning
from lesson.jobs.studies import NoResult, Space, Study, Trial, Value, between, one_of
from lesson.money.costs import Estimate, Price, PriceUnknown, estimate
from lesson.show.plots import plot_trials
from lesson.show.progress import Display
from lesson.show.trial_plots import best_so_far, importance

SPACE: Space = {
    "learning_rate": between(0.0001, 0.1, scale="log"),
    "hidden": one_of("16", "64,32"),
    "patience": between(5, 50),
}
finite = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(10**6), 10**6)


# ---- what may be tried --------------------------------------------------------------------------
@given(st.one_of(st.tuples(whole, whole), st.tuples(finite, finite)).map(sorted))
def test_between_takes_any_two_numbers_the_lower_one_first(ends: list[float]) -> None:
    low, high = ends
    if low == high:
        with pytest.raises(LessonError, match="the lower one first"):
            between(low, high)
        return
    made = between(low, high)
    assert (made.low, made.high, made.scale) == (low, high, "linear")
    assert made.whole == (isinstance(low, int) and isinstance(high, int))
    with pytest.raises(LessonError, match="the lower one first"):
        between(high, low)


@given(st.floats(max_value=0, allow_nan=False), st.floats(0.1, 10))
def test_a_log_scale_begins_above_zero(low: float, high: float) -> None:
    with pytest.raises(LessonError):
        between(low, high, scale="log")


@pytest.mark.parametrize(
    ("low", "high", "scale", "sentence"),
    [
        (1, float("nan"), "linear", r"between\(1, nan\): name two numbers"),
        ("1", 2, "linear", r"between\('1', 2\): name two numbers"),
        (False, True, "linear", "name two numbers"),
        (1, 2, "logarithmic", "scale='logarithmic'; name one of linear, log, reverse log"),
        (0, 2, "log", "a log scale never reaches 0"),
    ],
)
def test_what_is_no_range_is_refused(low: Any, high: Any, scale: str, sentence: str) -> None:
    with pytest.raises(LessonError, match=sentence):
        between(low, high, scale)


@given(st.lists(st.one_of(whole, st.text()), max_size=6))
def test_one_of_takes_texts_or_numbers_each_once(given_values: list[int | str]) -> None:
    kinds = {type(value) for value in given_values}
    if len(kinds) == 1 and len(set(given_values)) == len(given_values):
        made = one_of(*given_values)
        assert set(made.values) == set(given_values)
        assert made.numbers == (kinds == {int})
        assert not made.numbers or list(made.values) == sorted(made.values)
    else:
        with pytest.raises(LessonError, match=r"one_of\(.*\): name"):
            one_of(*given_values)


@given(st.integers(5, 50), st.floats(0.0001, 0.1), st.sampled_from(["16", "64,32"]))
def test_values_come_back_as_they_were_asked_for(patience: int, rate: float, hidden: str) -> None:
    asked: dict[str, Value] = {"learning_rate": rate, "hidden": hidden, "patience": patience}
    as_doubles = asked | {"patience": float(patience)}  # Vertex AI's whole numbers
    as_texts = {name: str(value) for name, value in asked.items()}  # SageMaker's numbers
    for sent in (as_doubles, as_texts):
        values = studies.values(SPACE, sent)
        assert values == asked and isinstance(values["patience"], int)
    assert studies.values({"rows": one_of(16, 64)}, {"rows": 16.0}) == {"rows": 16}


# ---- a study as it stands -----------------------------------------------------------------------
def trial(number: int, result: float | None = None, state: str = "succeeded", **more: Any) -> Trial:
    values: dict[str, Value] = {
        "learning_rate": 0.0123456,
        "hidden": "64,32",
        "patience": 10 + number,
    }
    return Trial(number, f"job-{number}", state, values, result, seconds=2.0, **more)


def study(*trials: Trial, **more: Any) -> Study:
    facts: dict[str, Any] = dict(
        place="Vertex AI", metric="validation_loss", goal="minimize", seconds=12.3, cost=0.0044,
        name="tune-nn-1", state="running", planned=4, space=SPACE,
    )  # fmt: skip
    return Study(**facts | {"trials": trials} | more)


HALF = study(
    trial(1, 0.6),
    trial(2, 0.5),
    trial(3, state="failed", reason="No metric of the tag x arrived."),
    trial(4, state="running"),
)


def test_the_best_is_the_one_that_the_goal_asks_for_and_the_first_of_equals() -> None:
    assert HALF.best.number == 2
    assert replace(HALF, goal="maximize").best.number == 1
    assert study(trial(1, 0.5), trial(2, 0.5)).best.number == 1


def test_a_stopped_trial_is_never_the_best_although_it_has_a_result() -> None:
    assert study(trial(1, 0.5), trial(2, 0.1, "cancelled")).best.number == 1


def test_without_a_result_there_is_no_best() -> None:
    with pytest.raises(LessonError, match="tune-nn-1: no trial has a result"):
        _ = study(trial(1, state="running")).best


def test_the_table_has_a_row_for_each_trial_and_a_column_for_each_parameter() -> None:
    table = HALF.table()
    assert [*table.columns] == [
        "trial", "state", "learning_rate", "hidden", "patience", "validation_loss", "seconds",
        "note",
    ]  # fmt: skip
    assert [*table["validation_loss"]] == [0.6, 0.5, "", ""]
    assert [*table["learning_rate"]] == [0.01235] * 4
    assert [*table["note"]] == ["", "best", "No metric of the tag x arrived.", ""]
    assert [*study().table().columns] == [*table.columns]


def test_a_study_says_how_far_it_is_and_shows_its_trials_below() -> None:
    top, head, *rows = repr(HALF).splitlines()
    assert top == (
        "[###############.....] running  3 of 4 trials  1 running  1 failed  "
        "best validation_loss 0.5000 (trial 2)  12 s  about $0.0044"
    )
    assert head.split()[:3] == ["trial", "state", "learning_rate"] and len(rows) == 4
    assert rows[1].split() == ["2", "succeeded", "0.01235", "64,32", "12", "0.5", "2", "best"]
    assert rows[2].endswith("No metric of the tag x arrived.")


@given(st.integers(0, 60), st.integers(10, 200), st.integers(1, 60))
def test_a_study_is_never_wider_or_higher_than_asked(count: int, width: int, height: int) -> None:
    shown = study(*(trial(number, 0.5) for number in range(1, count + 1)), planned=60)
    lines = shown.lines(width, height)
    assert 1 <= len(lines) <= height and all(len(line) <= width for line in lines)
    if count and height > 2:  # the newest trial is among them
        assert lines[-1].split()[0] == str(count)


def test_a_notebook_shows_text_as_text() -> None:
    shown = study(trial(1, state="failed", reason="<b>no</b>")).markup()
    assert "<b>" not in shown and "&lt;b&gt;no" in shown and shown.count("<tr>") == 2
    assert 'aria-label="progress of the study"' in shown


def test_a_study_without_any_result_says_what_the_last_trial_said() -> None:
    failed = study(trial(1, state="failed", reason="one"), trial(2, state="failed", reason="two."))
    assert str(NoResult(failed)) == (
        "tune-nn-1: all 2 trials failed. Trial 2: two. wait('tune-nn-1') shows all trials again"
    )
    assert NoResult(failed).study is failed
    assert "Trial 2: its log says two. wait(" in str(NoResult(failed, lambda _: "its log says two"))
    assert "no trial was sent" in str(NoResult(study()))


# ---- where it is shown --------------------------------------------------------------------------
def test_into_a_file_goes_one_line_now_and_then_and_the_table_once() -> None:
    stream = io.StringIO()
    display = Display(stream, now=lambda: 0.0)
    for seen in (study(), *(replace(HALF, trials=HALF.trials[:n]) for n in (1, 2, 3, 4))):
        display.show(seen)
    display.show(replace(HALF, state="succeeded"))
    display.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2 + 1 + 4  # two states, the heads, four trials
    assert [line.startswith("[") for line in lines] == [True] * 2 + [False] * 5


def test_a_terminals_lines_are_overwritten_in_place() -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as stream:
        display = Display(stream)
        for count in (0, 1, 2):
            display.show(replace(HALF, trials=HALF.trials[:count]))
        display.close()
        shown = ""
        while shown.count("\n") < 2 + 3 + 1:  # of the second and the third look, and of the end
            shown += os.read(leader, 4096).decode()
    os.close(leader)
    # Nothing is above the first line; the second look goes from there, the third two lines up.
    assert shown.count("\033[2A") == 1 and "\033[1A" not in shown
    assert shown.count("\r\033[K") == 1 + 3 + 4


# ---- before it is sent --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("space", "args", "counts", "sentence"),
    [
        ({}, {}, {}, "space is empty: name a flag"),
        ({"hidden": ["16"]}, {}, {}, r"space has hidden=\['16'\]; use between"),
        (SPACE, {"patience": 3}, {}, "patience is in args and in space"),
        (SPACE, {}, {"trials": 0}, "trials=0; name a whole number of at least one"),
        (SPACE, {}, {"parallel": 1.5}, "parallel=1.5; name a whole number"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    space: Any, args: dict[str, Any], counts: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(LessonError, match=sentence):
        tuning.check(space, args, **counts)


def test_a_grid_has_no_place_for_a_range_of_real_numbers() -> None:
    tuning.check_algorithm("grid", ["grid"], {"patience": between(5, 50)}, service="Vertex AI")
    with pytest.raises(LessonError, match="learning_rate: a grid"):
        tuning.check_algorithm("grid", ["grid"], SPACE, service="Vertex AI")
    with pytest.raises(LessonError, match="algorithm='best'; Vertex AI has random, grid"):
        tuning.check_algorithm("best", ["random", "grid"], SPACE, service="Vertex AI")


def test_the_goal_follows_from_the_metric_unless_it_is_said() -> None:
    assert tuning.goal_of("validation_loss", None) == "minimize"
    assert tuning.goal_of("validation_accuracy", None) == "maximize"
    assert tuning.goal_of("validation_loss", "maximize") == "maximize"
    with pytest.raises(LessonError, match="goal='most'; name minimize or maximize"):
        tuning.goal_of("validation_loss", "most")


def box() -> Estimate:
    return estimate(("box", Price(0.6, "https://example.org", "2026-10-07", "as read")))


def test_the_cost_before_is_an_hours_price_and_how_to_calculate_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tuning.state_cost("Vertex AI", box, trials=12, parallel=2, spot=False)
    hour, rest = capsys.readouterr().out.splitlines()
    assert (
        hour == "on Vertex AI this costs about $1.20 an hour at list price; here it costs nothing"
    )
    assert rest == (
        "12 trials, 2 at a time: for each minute that a trial takes, $0.12 in all; "
        "at most $172.80, if each ran into its limit of 24 hours"
    )


def test_more_at_a_time_than_there_are_trials_costs_no_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tuning.state_cost("Vertex AI", box, trials=3, parallel=10, spot=True)
    hour, rest = capsys.readouterr().out.splitlines()
    assert "about $1.80 an hour at list price, less on spot machines" in hour
    assert "3 trials, 3 at a time: for each minute that a trial takes, less than $0.030" in rest


def test_without_a_price_only_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    def unknown() -> Estimate:
        raise PriceUnknown("no price")

    tuning.state_cost("Vertex AI", unknown, 3, parallel=1, spot=False)
    assert capsys.readouterr().out.splitlines() == [
        "no price; under LESSON_TARGET=cloud this job would not be sent"
    ]


# ---- while it runs ------------------------------------------------------------------------------
def test_an_interrupt_ends_the_watching_and_says_how_to_go_on() -> None:
    def interrupted() -> Study:
        raise KeyboardInterrupt

    with pytest.raises(LessonError, match=r"but tune-nn-1 goes on: wait\('tune-nn-1'\)"):
        tuning.follow(interrupted, 0, str, name=HALF.name)


def test_a_study_is_shown_until_it_ends() -> None:
    looks = iter([study(), HALF, replace(HALF, state="succeeded")])
    assert tuning.follow(lambda: next(looks), 0, str, name=HALF.name).state == "succeeded"


def test_a_study_that_was_stopped_before_any_result_is_no_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended = study(trial(1, state="cancelled"), state="cancelled")
    assert tuning.follow(lambda: ended, 0, str, name=ended.name) is ended
    assert "was cancelled before a trial had succeeded" in capsys.readouterr().out


# ---- the picture --------------------------------------------------------------------------------
def many(count: int, goal: str = "minimize") -> Study:
    """Only the learning rate matters."""
    made = []
    for number in range(1, count + 1):
        rate = 0.0001 * 1000 ** ((number * 7 % count) / count)
        hidden = ["16", "64,32"][number % 2]
        values: dict[str, Value] = {"learning_rate": rate, "hidden": hidden, "patience": 7}
        made.append(Trial(number, "", "succeeded", values, 0.5 + (rate - 0.01) ** 2, 1.0))
    return study(*made, trial(count + 1, state="failed", reason="x"), goal=goal)


def test_the_picture_tells_readers_what_it_shows(tmp_path: Path) -> None:
    picture = plot_trials(many(30), tmp_path / "trials.png")
    assert picture.path.read_bytes()[:4] == b"\x89PNG"
    assert picture.alt.startswith("30 trials, and 1 without a result: validation_loss goes from ")
    assert f"in the best, trial {many(30).best.number}, with learning_rate " in picture.alt
    assert "Importance: learning_rate " in picture.alt


def test_importance_finds_what_matters_and_is_silent_where_nobody_can_tell() -> None:
    shares = importance(many(30))
    assert max(shares, key=lambda name: shares[name]) == "learning_rate"
    assert sum(shares.values()) == pytest.approx(1)
    assert importance(many(3)) == {}
    assert importance(study(*(trial(number, 0.5) for number in range(1, 9)))) == {}


def test_too_few_trials_for_importance_are_said_so(tmp_path: Path) -> None:
    picture = plot_trials(many(2), tmp_path / "trials.png")
    assert picture.alt.endswith("Importance needs 4 trials with results that differ.")


def test_the_best_so_far_never_gets_worse() -> None:
    for goal, sign in (("minimize", 1), ("maximize", -1)):
        made = many(12, goal)
        bests = [sign * best for best in best_so_far(made)]
        assert bests == sorted(bests, reverse=True)
        assert bests[-1] == sign * (made.best.result or 0)


def test_there_is_no_picture_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match="nothing to draw"):
        plot_trials(study(trial(1, state="failed", reason="x")), tmp_path / "trials.png")
