"""What a study tries next: within the bounds, the same again, and better than by chance."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_cloud.engine.studies.search import Parameter, Trial, Value, exists, grid, next_values

LEARNING_RATE = Parameter("learning_rate", "real", 1e-4, 1.0, scale="log")
OPTIMISER = Parameter("optimiser", "unordered", choices=("adam", "sgd"))
MOMENTUM = Parameter(
    "momentum", "real", 0.1, 0.99, scale="reverse log", parent="optimiser", when=("sgd",)
)
BATCH_SIZE = Parameter("batch_size", "ordered", choices=(16, 64, 256))
SPACE = [LEARNING_RATE, Parameter("width", "whole", 1, 128, scale="log"), BATCH_SIZE, OPTIMISER]
SPACE += [MOMENTUM]


def loss(values: Mapping[str, Value]) -> float:
    """Best near a learning rate of 0.01 and a width of 20, with batches of 64 and SGD."""
    rate, width = (float(values[name]) for name in ("learning_rate", "width"))
    wrong = (values["batch_size"] != 64) + (values["optimiser"] != "sgd")
    return (math.log10(rate) + 2) ** 2 + abs(width - 20) / 50 + wrong


def study(
    algorithm: str, count: int, seed: int, result: Callable[[Mapping[str, Value]], float | None]
) -> list[Trial]:
    """So many trials, one after the other; one without a result has failed."""
    trials: list[Trial] = []
    for _ in range(count):
        values = next_values(SPACE, trials, algorithm=algorithm, maximize=False, seed=seed)
        assert values is not None
        trials.append(Trial(values, result(values), failed=result(values) is None))
    return trials


def best(trials: list[Trial]) -> float:
    return min(trial.result for trial in trials if trial.result is not None)


numbers = st.floats(1e-6, 1e6)
scales = st.sampled_from(["linear", "log", "reverse log"])


@st.composite
def spaces(draw: st.DrawFn) -> list[Parameter]:
    """Up to five parameters of any kind, some of them there only with some values of the first."""
    first = Parameter("p0", "unordered", choices=("a", "b", "c"))
    space = [first]
    for number in range(1, draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["real", "whole", "ordered", "unordered"]))
        low, high = sorted((draw(numbers), draw(numbers)))
        if kind == "whole":
            low, high = math.ceil(low), math.ceil(high)
        choices: tuple[Value, ...] = {
            "ordered": tuple(sorted(draw(st.sets(numbers, min_size=1, max_size=4)))),
            "unordered": tuple(draw(st.sets(st.text(max_size=3), min_size=1, max_size=4))),
        }.get(kind, ())
        when = tuple(draw(st.sets(st.sampled_from(first.choices))))
        parent = "p0" if when else ""
        scale = "linear" if choices else draw(scales)
        space.append(Parameter(f"p{number}", kind, low, high, choices, scale, parent, when))
    return space


@settings(max_examples=60)
@given(
    space=spaces(),
    algorithm=st.sampled_from(["bayesian", "random"]),
    maximize=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
    results=st.lists(st.none() | st.floats(-1e9, 1e9), max_size=14),
    running=st.booleans(),
)
def test_any_space_is_searched_within_its_bounds(
    space: list[Parameter],
    algorithm: str,
    maximize: bool,
    seed: int,
    results: list[float | None],
    running: bool,
) -> None:
    trials: list[Trial] = []
    for result in results:
        values = next_values(space, trials, algorithm=algorithm, maximize=maximize, seed=seed)
        assert values is not None
        for parameter in space:
            assert (parameter.name in values) == exists(parameter, values)
            if parameter.name in values:
                value = values[parameter.name]
                inside = parameter.choices or (isinstance(value, int | float) and (value,))
                assert inside and value in inside
                if not parameter.choices:
                    assert parameter.low <= float(value) <= parameter.high
                    assert parameter.kind == "real" or isinstance(value, int)
        trials.append(Trial(values, result, failed=result is None and not running))
    again = [
        next_values(space, trials, algorithm=algorithm, maximize=maximize, seed=seed)
        for _ in range(2)
    ]
    assert again[0] == again[1]


@settings(suppress_health_check=[HealthCheck.too_slow])  # of a busy machine
@given(parameter=spaces().map(lambda space: space[-1]), share=st.floats(0, 1))
def test_what_optuna_is_told_is_what_was_tried(parameter: Parameter, share: float) -> None:
    if parameter.choices:
        value = parameter.choices[round(share * (len(parameter.choices) - 1))]
        assert parameter.outside(parameter.inside(value)) == value
    else:
        number = parameter.low + share * (parameter.high - parameter.low)
        number = round(number) if parameter.kind == "whole" else min(number, parameter.high)
        back = parameter.outside(parameter.inside(number))
        assert back == pytest.approx(number, abs=1e-9 * parameter.high)


@pytest.mark.parametrize("algorithm", ["bayesian", "random"])
def test_the_same_seed_gives_the_same_trials_and_another_one_others(algorithm: str) -> None:
    one, again, other = (study(algorithm, 14, seed, loss) for seed in (3, 3, 4))
    assert one == again
    assert not any(trial in other for trial in one)


def test_values_near_to_one_are_tried_as_finely_as_their_distance_to_it() -> None:
    """SageMaker's reverse logarithm: 1 - value is searched by its logarithm."""
    beta = Parameter("beta", "real", 0.0, 0.9999, scale="reverse log", about=1.0)
    trials: list[Trial] = []
    for _ in range(200):
        values = next_values([beta], trials, algorithm="random", maximize=False, seed=1)
        assert values is not None and 0 <= float(values["beta"]) <= 0.9999
        trials.append(Trial(values, 0.0))
    shares = [sum(float(one.values["beta"]) > bound for one in trials) for bound in (0.9, 0.99)]
    assert shares[0] == pytest.approx(150, abs=20) and shares[1] == pytest.approx(100, abs=20)


def test_a_warm_start_is_a_better_start() -> None:
    def first(earlier: list[Trial], alike: bool, seed: int) -> float:
        values = next_values(
            SPACE, [], algorithm="bayesian", maximize=False, seed=seed, earlier=earlier, alike=alike
        )
        assert values is not None
        return loss(values)

    known = study("bayesian", 30, 0, loss)
    scaled = [Trial(trial.values, 1000 + 5 * (trial.result or 0)) for trial in known]
    cold = statistics.median(first([], True, seed) for seed in range(15))
    assert statistics.median(first(known, True, seed) for seed in range(15)) < 0.7 * cold
    assert statistics.median(first(scaled, False, seed) for seed in range(15)) < 0.7 * cold


def test_results_of_another_scale_count_by_their_order() -> None:
    known = study("random", 12, 0, loss)
    own = study("random", 12, 1, loss)
    changed = [Trial(trial.values, 1000 + 5 * (trial.result or 0)) for trial in known]

    def ask(earlier: list[Trial], alike: bool) -> dict[str, Value] | None:
        return next_values(
            SPACE,
            own,
            algorithm="bayesian",
            maximize=False,
            seed=7,
            earlier=earlier,
            alike=alike,
        )

    assert ask(known, alike=False) == ask(changed, alike=False)
    assert ask(known, alike=True) != ask(changed, alike=True)


@pytest.mark.parametrize("seeds", [3, pytest.param(9, marks=pytest.mark.slow)])
def test_a_bayesian_search_finds_more_than_a_random_one(seeds: int) -> None:
    best_by_algorithm = {
        algorithm: statistics.median(
            best(study(algorithm, 40, seed, loss)) for seed in range(seeds)
        )
        for algorithm in ("bayesian", "random")
    }
    assert best_by_algorithm["bayesian"] < 0.7 * best_by_algorithm["random"]


def test_a_log_scale_tries_small_values_as_often_as_large_ones() -> None:
    reverse = Parameter("r", "real", 0.0001, 1.0, scale="reverse log")
    space = [LEARNING_RATE, reverse]
    trials = [
        next_values(space, [Trial({})] * n, algorithm="random", maximize=True, seed=0)
        for n in range(200)
    ]
    small = [trial for trial in trials if trial and float(trial["learning_rate"]) < 0.01]
    large = [trial for trial in trials if trial and 1.0001 - float(trial["r"]) < 0.01]
    assert 70 < len(small) < 130 and 70 < len(large) < 130


def test_trials_side_by_side_are_not_alike() -> None:
    running: list[Trial] = study("bayesian", 12, 0, loss)
    for _ in range(4):
        values = next_values(SPACE, running, algorithm="bayesian", maximize=False, seed=0)
        assert values is not None
        running.append(Trial(values))
    assert len({str(trial.values) for trial in running}) == len(running)


def test_failed_trials_do_not_end_the_search() -> None:
    trials = study("bayesian", 30, 0, lambda values: loss(values) if values["width"] != 1 else None)
    assert best(trials) < 1


@pytest.mark.parametrize("algorithm", ["bayesian", "random"])
def test_a_value_that_is_given_stays_and_the_others_are_searched(algorithm: str) -> None:
    trials = study(algorithm, 12, 0, loss)
    values = next_values(
        SPACE, trials, algorithm=algorithm, maximize=False, seed=0, fixed={"learning_rate": 0.5}
    )
    assert values is not None and values["learning_rate"] == 0.5
    assert values.keys() == trials[0].values.keys()


def test_a_grid_leaves_out_what_was_tried_in_another_order() -> None:
    space = [Parameter("x", "whole", 1, 3), Parameter("c", "unordered", choices=("a", "b"))]
    tried = [Trial({"x": 2, "c": "a"}, 0.0), Trial({"x": 1, "c": "a"}, 0.0)]

    def ask(**fixed: Value) -> dict[str, Value] | None:
        return next_values(space, tried, algorithm="grid", maximize=True, seed=0, fixed=fixed)

    assert ask() == {"x": 1, "c": "b"}
    assert ask(x=2) == {"x": 2, "c": "b"}


def test_a_grid_goes_through_no_values_but_those_that_are_fixed() -> None:
    """Of 10^18 combinations."""
    space = [Parameter(name, "whole", 1, 10**6) for name in "abc"]
    fixed = {"a": 10**6, "b": 10**6}
    chosen = next_values(space, [], algorithm="grid", maximize=True, seed=0, fixed=fixed)
    assert chosen == fixed | {"c": 1}
    none = next_values(space, [], algorithm="grid", maximize=True, seed=0, fixed={"a": 0})
    assert none is None


def test_a_grid_is_tried_in_order_and_ends() -> None:
    space = [Parameter("layers", "whole", 1, 2), OPTIMISER, BATCH_SIZE]
    sgd_only = Parameter("nesterov", "unordered", choices=("no", "yes"), parent="optimiser",
                         when=("sgd",))  # fmt: skip
    points = list(grid([*space, sgd_only]))
    assert len(points) == 2 * (3 + 3 * 2) == len({str(point) for point in points})
    assert points[0] == {"layers": 1, "optimiser": "adam", "batch_size": 16}
    assert points[3] == {"layers": 1, "optimiser": "sgd", "batch_size": 16, "nesterov": "no"}
    trials: list[Trial] = []
    while (
        values := next_values([*space, sgd_only], trials, algorithm="grid", maximize=False, seed=0)
    ) is not None:
        trials.append(Trial(values, 0.0))
    assert [trial.values for trial in trials] == points
