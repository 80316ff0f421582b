"""The charts of a study: its history, its slices, and which parameters matter."""

from __future__ import annotations

import random

import pytest

from local_cloud.console.charts import parallel, study_charts
from local_cloud.engine.spec import State
from local_cloud.engine.studies.search import Parameter
from local_cloud.engine.studies.spec import Study, StudySpec, TrialJob

RATE = Parameter("rate", "real", 0.001, 0.1, scale="log")
SIZE = Parameter("size", "ordered", choices=(16, 32, 128))
OPTIMISER = Parameter("optimiser", "unordered", choices=("adam", "sgd"))
CHANCE = random.Random(0)
# The optimiser decides; the size does nothing.
TRIALS = tuple(
    TrialJob(
        f"job-{number}",
        {
            "rate": 10 ** CHANCE.uniform(-3, -1),
            "size": (16, 32, 128)[number % 3],
            "optimiser": name,
        },
        result=0.8 + 0.01 * CHANCE.random() if name == "adam" else 0.6,
    )
    for number, name in enumerate(["sgd", "adam"] * 8)
)


def study(*trials: TrialJob) -> Study:
    spec = StudySpec((RATE, SIZE, OPTIMISER), maximize=True, max_trials=16)
    return Study("study", "vertex", spec, State.SUCCEEDED, 1.0, 2.0, trials)


def test_the_history_has_each_result_and_the_best_so_far() -> None:
    failed = TrialJob("job", {}, reason="it failed")
    chart = study_charts.history(study(*TRIALS[:2], failed, TRIALS[2]), "accuracy")
    assert chart
    best, results = chart.lines
    assert (best.name, results.name) == ("best so far", "accuracy")
    assert best.at == results.at == "1 2 4"
    first, second, third = map(float, best.values.split())
    assert first < second == third and results.values.split()[2] == results.values.split()[0]
    assert len(results.marks) == 3 and not results.points
    assert study_charts.history(study(failed), "accuracy") is None


def test_a_slice_has_a_dot_for_each_trial_and_choices_as_its_ticks() -> None:
    rate, size, optimiser = study_charts.slices(study(*TRIALS), "accuracy")
    assert [tick.text for tick in size.across] == ["16", "32", "128"]
    assert [tick.text for tick in optimiser.across] == ["adam", "sgd"]
    assert "0.01" in [tick.text for tick in rate.across]
    assert all(len(chart.dots) == 16 for chart in (rate, size, optimiser))
    assert optimiser.dots[-1].rank == "best" and "optimiser adam" in optimiser.dots[-1].told


def test_choices_are_the_ticks_in_parallel_coordinates_too() -> None:
    picture = parallel.of(study(*TRIALS), "accuracy")
    assert picture and [text for _, text in picture.axes[1].ticks] == ["16", "32", "128"]


def test_the_parameter_that_decides_has_the_largest_share() -> None:
    shares = study_charts.importance(study(*TRIALS))
    assert next(iter(shares)) == "optimiser" and shares["optimiser"] > 0.9
    assert sum(shares.values()) == pytest.approx(1)
    assert study_charts.importance(study(*TRIALS[:3])) == {}
    assert study_charts.importance(study(*TRIALS[::2])) == {}, "their results are all the same"
