"""When a trial is stopped early: what each rule decides of curves that are known."""

from __future__ import annotations

from collections.abc import Sequence

import optuna
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_cloud.engine.studies.early_stopping import Other, Rule, is_over

MEDIAN, LATEST = Rule("median"), Rule("median", latest=True)
DECAY = Rule("decay curve")
HALVING = Rule("halving", least=1, most=9)


def trial(place: int, *values: float, result: float | None = None) -> Other:
    """A trial that reported these values, step by step; one with a result has ended."""
    curve = [(float(step), value) for step, value in enumerate(values, 1)]
    return Other(place, curve, result is not None, result)


def over(rule: Rule, mine: Other, *others: Other, since: float = 0) -> bool:
    return is_over(rule, mine, since=since, others=[mine, *others], maximize=False)


def falling(place: int, end: float) -> Other:
    """Ten steps, each a third of the way down to its end nearer to it."""
    values = [end + (5 - end) * (2 / 3) ** step for step in range(10)]
    return trial(place, *values, result=values[-1])


class TestMedian:
    ENDED = tuple(trial(place, 4, 2, 0, result=0) for place in (1, 2, 3))

    def test_counts_only_what_was_reported_by_then(self) -> None:
        """On average 4 after one step, 3 after two."""
        assert not over(MEDIAN, trial(0, 3.5), *self.ENDED)
        assert over(MEDIAN, trial(0, 3.5, 3.5), *self.ENDED)

    def test_judges_the_best_or_the_latest_value(self) -> None:
        mine = trial(0, 1, 5)
        assert not over(MEDIAN, mine, *self.ENDED)
        assert over(LATEST, mine, *self.ENDED)

    def test_needs_three_that_have_ended(self) -> None:
        running = trial(3, 0, 0, 0)
        assert not over(MEDIAN, trial(0, 9), *self.ENDED[:2], running)

    def test_decides_once_of_each_report(self) -> None:
        assert not over(MEDIAN, trial(0, 9), *self.ENDED, since=1)
        assert not over(MEDIAN, trial(0), *self.ENDED)


class TestDecayCurve:
    ENDED = tuple(falling(place, end) for place, end in enumerate((1, 1.5, 2, 2.5, 3), 1))

    def part(self, end: float, steps: int) -> Other:
        return Other(0, falling(0, end).curve[:steps], ended=False)

    def test_stops_what_stays_far_above_the_best(self) -> None:
        assert over(DECAY, self.part(3, 6), *self.ENDED)

    def test_spares_what_may_become_the_best(self) -> None:
        for steps in range(1, 11):
            assert not over(DECAY, self.part(0.9, steps), *self.ENDED)

    def test_does_not_judge_from_the_first_step_of_trials_that_begin_alike(self) -> None:
        assert not over(DECAY, self.part(2.5, 1), *self.ENDED)

    def test_needs_three_that_ran_to_their_end(self) -> None:
        assert not over(DECAY, self.part(3, 6), *self.ENDED[:2], trial(9, 5, 5))
        assert over(DECAY, self.part(3, 6), *self.ENDED[:3])


class TestHalving:
    """Three brackets: places 0, 3, 6, 9 are judged at steps 1, 3, 9; 1, 4, … at 3, 9."""

    def test_the_best_third_goes_on(self) -> None:
        rivals = [
            trial(place, value) for place, value in ((3, 1), (6, 2), (9, 3), (12, 4), (15, 5))
        ]
        assert not over(HALVING, trial(0, 0.5), *rivals)
        assert not over(HALVING, trial(0, 1.5), *rivals)
        assert over(HALVING, trial(0, 2.5), *rivals)

    def test_the_first_that_comes_by_goes_on(self) -> None:
        assert not over(HALVING, trial(0, 99))

    def test_another_bracket_begins_later_and_among_itself(self) -> None:
        better = [trial(place, 1, 1, 1) for place in (3, 6, 4)]
        assert over(HALVING, trial(0, 9), *better)
        assert not over(HALVING, trial(1, 9), *better)
        assert over(HALVING, trial(1, 9, 9, 9), *better)

    def test_rivals_of_other_brackets_do_not_count(self) -> None:
        better = [trial(place, 1, 1, 1) for place in (0, 2, 3, 5, 6)]
        assert not over(HALVING, trial(1, 9, 9, 9), *better)
        assert over(HALVING, trial(1, 9, 9, 9), *better, trial(4, 1, 1, 1))

    @given(st.lists(st.lists(st.integers(0, 9), min_size=8, max_size=8), max_size=7))
    def test_decides_as_optunas_pruner_where_both_are_asked_after_every_step(
        self, reports: list[list[int]]
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=3)
        study = optuna.create_study(pruner=pruner)
        earlier: list[Other] = []
        for place, values in enumerate(reports):
            theirs = study.ask()
            for step, value in enumerate(values, 1):
                mine = trial(3 * place, *values[:step])  # every third trial is in the first bracket
                theirs.report(value, step)
                stopped = over(HALVING, mine, *earlier, since=step - 1)
                assert stopped == theirs.should_prune()
                if stopped:
                    break
            earlier.append(mine)
            study.tell(theirs, 0.0)

    def test_no_decision_is_made_twice(self) -> None:
        better = [trial(place, 1, 1) for place in (3, 6)]
        assert over(HALVING, trial(0, 9, 9), *better)
        assert not over(HALVING, trial(0, 9, 9), *better, since=1)

    def test_all_are_stopped_at_the_most(self) -> None:
        assert over(HALVING, trial(0, *range(9)))


values = st.lists(st.floats(-100, 100), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    rule=st.sampled_from([MEDIAN, LATEST, DECAY, HALVING]),
    mine=values,
    others=st.lists(st.tuples(values, st.booleans()), max_size=6),
)
def test_to_maximise_is_to_minimise_the_opposite(
    rule: Rule, mine: Sequence[float], others: Sequence[tuple[Sequence[float], bool]]
) -> None:
    def judged(sign: int) -> bool:
        every = [trial(0, *(sign * value for value in mine))]
        for place, (curve, ended) in enumerate(others, 1):
            signed = [sign * value for value in curve]
            every.append(trial(place, *signed, result=signed[-1] if ended else None))
        return is_over(rule, every[0], since=0, others=every, maximize=sign < 0)

    assert judged(1) == judged(-1)


@pytest.mark.parametrize("rule", [MEDIAN, LATEST, DECAY])
def test_a_trial_as_good_as_the_best_goes_on(rule: Rule) -> None:
    ended = [falling(place, end) for place, end in enumerate((1, 2, 3, 4), 1)]
    assert not over(rule, Other(0, ended[0].curve[:7], ended=False), *ended)
