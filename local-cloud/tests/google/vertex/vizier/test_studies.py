"""Vizier's studies by the service's own client: the service searches, and we run the trials."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud.aiplatform_v1.services.vizier_service import VizierServiceClient
from google.cloud.aiplatform_v1.services.vizier_service.transports import VizierServiceRestTransport
from google.cloud.aiplatform_v1.types import Study

import local_cloud

PARENT = "projects/my-project/locations/us-central1"
X = {"parameter_id": "x", "double_value_spec": {"min_value": 0, "max_value": 10}}
LOSS = {"metric_id": "loss", "goal": "MINIMIZE"}
SCORE = {"metric_id": "score", "goal": "MAXIMIZE"}
NAMES = map("study {}".format, itertools.count())


@pytest.fixture
def vizier(aiplatform: ModuleType) -> VizierServiceClient:
    host = aiplatform.initializer.global_config.api_endpoint.removeprefix("http://")
    return VizierServiceClient(
        transport=VizierServiceRestTransport(
            host=host, url_scheme="http", credentials=AnonymousCredentials()
        )
    )


def create(vizier: VizierServiceClient, *parameters: Any, **spec: Any) -> Study:
    """A study of its own name; one parameter x and one metric loss unless others are given."""
    spec = {"parameters": [*parameters] or [X], "metrics": [LOSS], **spec}
    study = {"display_name": spec.pop("name", None) or next(NAMES), "study_spec": spec}
    return vizier.create_study(parent=PARENT, study=study)


def suggest(vizier: VizierServiceClient, study: Study, count: int = 1, **more: Any) -> list[Any]:
    request = {"parent": study.name, "suggestion_count": count, "client_id": "me", **more}
    return list(vizier.suggest_trials(request=request).result(timeout=60).trials)


def complete(vizier: VizierServiceClient, trial: Any, **metrics: float) -> Any:
    return vizier.complete_trial(
        request={"name": trial.name, "final_measurement": measured(**metrics)}
    )


def measured(step: int = 0, **metrics: float) -> dict[str, Any]:
    values = [{"metric_id": name, "value": value} for name, value in metrics.items()]
    return {"step_count": step, "metrics": values}


def values(trial: Any) -> dict[str, Any]:
    return {one.parameter_id: one.value for one in trial.parameters}


# ---- studies -----------------------------------------------------------------------------------


def test_a_study_is_found_by_its_name_listed_and_deleted(vizier: VizierServiceClient) -> None:
    study = create(vizier, name="found by name")
    assert study.state.name == "ACTIVE"
    assert study.study_spec.metrics[0].goal.name == "MINIMIZE"
    assert vizier.get_study(name=study.name) == study
    study_found = vizier.lookup_study(request={"parent": PARENT, "display_name": "found by name"})
    assert study_found == study
    assert study in list(vizier.list_studies(parent=PARENT))
    with pytest.raises(exceptions.AlreadyExists, match="found by name"):
        create(vizier, name="found by name")
    (trial,) = suggest(vizier, study)
    vizier.delete_study(name=study.name)
    for gone in (vizier.get_study, vizier.delete_study):
        with pytest.raises(exceptions.NotFound):
            gone(name=study.name)
    with pytest.raises(exceptions.NotFound):
        vizier.get_trial(name=trial.name)


REFUSED: dict[str, Any] = {
    "no metric": ({"metrics": []}, "metric"),
    "no goal": ({"metrics": [{"metric_id": "loss"}]}, "goal"),
    "the same metric twice": ({"metrics": [LOSS, LOSS]}, "twice"),
    "whitespace in a metric": ({"metrics": [LOSS | {"metric_id": "my loss"}]}, "whitespace"),
    "a parameter twice": ({"parameters": [X, X]}, "twice"),
    "an upside-down range": (
        {"parameters": [X | {"double_value_spec": {"min_value": 2, "max_value": 1}}]},
        "minValue",
    ),
    "a default outside": (
        {"parameters": [X | {"double_value_spec": {"max_value": 1, "default_value": 3}}]},
        "never has 3",
    ),
    "a grid of real numbers": ({"algorithm": "GRID_SEARCH"}, "GRID_SEARCH"),
    "discrete values too near": (
        {"parameters": [{"parameter_id": "d", "discrete_value_spec": {"values": [1, 1 + 1e-12]}}]},
        "apart",
    ),
    "too many discrete values": (
        {"parameters": [{"parameter_id": "d", "discrete_value_spec": {"values": [*range(1001)]}}]},
        "1000",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(vizier: VizierServiceClient, case: str) -> None:
    spec, why = REFUSED[case]
    with pytest.raises(exceptions.BadRequest, match=why):
        create(vizier, **{"name": f"refused: {case}", **spec})


MISSING: dict[str, Any] = {
    "several metrics": {"metrics": [LOSS, SCORE], "median_automated_stopping_spec": {}},
    "convexAutomatedStoppingSpec": {"convex_automated_stopping_spec": {}},
    "safetyConfig": {"metrics": [LOSS | {"safety_config": {"safety_threshold": 1}}]},
}


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_refused_by_name(vizier: VizierServiceClient, what: str) -> None:
    with pytest.raises(exceptions.MethodNotImplemented, match=what):
        create(vizier, **MISSING[what])


# ---- suggestions -------------------------------------------------------------------------------


def test_a_search_of_ones_own_loop_comes_near_the_best_value(vizier: VizierServiceClient) -> None:
    study = create(vizier, name="a parabola")
    for number in range(1, 31):
        (trial,) = suggest(vizier, study)
        assert (trial.id, trial.state.name, trial.client_id) == (str(number), "ACTIVE", "me")
        done = complete(vizier, trial, loss=(values(trial)["x"] - 3) ** 2)
        assert done.state.name == "SUCCEEDED"
        assert done.end_time >= done.start_time
    best = vizier.list_optimal_trials(request={"parent": study.name}).optimal_trials
    assert len(best) == 1
    assert abs(values(best[0])["x"] - 3) < 0.5
    assert len(list(vizier.list_trials(request={"parent": study.name, "page_size": 7}))) == 30


def test_a_client_gets_the_same_trial_until_it_has_completed_it(
    vizier: VizierServiceClient,
) -> None:
    study = create(vizier)
    (mine,) = suggest(vizier, study)
    assert suggest(vizier, study) == [mine]
    (other,) = suggest(vizier, study, client_id="you")
    assert other.name != mine.name
    both = suggest(vizier, study, count=2)
    assert both[0] == mine
    assert [trial.id for trial in both] == ["1", "3"]
    complete(vizier, mine, loss=1)
    assert mine.name not in [trial.name for trial in suggest(vizier, study, count=2)]


def test_all_kinds_of_parameters_keep_their_kind(vizier: VizierServiceClient) -> None:
    momentum = {"parameter_id": "momentum", "double_value_spec": {"min_value": 0.1, "max_value": 1}}
    optimiser = {
        "parameter_id": "optimiser",
        "categorical_value_spec": {"values": ["adam", "sgd"]},
        "conditional_parameter_specs": [
            {"parent_categorical_values": {"values": ["sgd"]}, "parameter_spec": momentum}
        ],
    }
    width = {"parameter_id": "width", "integer_value_spec": {"min_value": 1, "max_value": 64}}
    batch = {"parameter_id": "batch", "discrete_value_spec": {"values": [16, 64]}}
    study = create(vizier, X, optimiser, width, batch, algorithm="RANDOM_SEARCH")
    tried_values = [values(trial) for trial in suggest(vizier, study, count=8)]
    for tried in tried_values:
        assert 0 <= tried["x"] <= 10
        assert tried["width"] == int(tried["width"])
        assert tried["batch"] in (16, 64)
        assert ("momentum" in tried) == (tried["optimiser"] == "sgd")
    assert {tried["optimiser"] for tried in tried_values} == {"adam", "sgd"}


def test_a_grid_is_tried_once_and_then_the_study_has_completed(
    vizier: VizierServiceClient,
) -> None:
    layers = {"parameter_id": "layers", "integer_value_spec": {"min_value": 1, "max_value": 3}}
    study = create(vizier, layers, algorithm="GRID_SEARCH")
    assert [values(trial)["layers"] for trial in suggest(vizier, study, count=5)] == [1, 2, 3]
    assert vizier.get_study(name=study.name).state.name == "COMPLETED"
    request = {"parent": study.name, "suggestion_count": 1, "client_id": "you"}
    answer = vizier.suggest_trials(request=request).result(timeout=60)
    assert (list(answer.trials), answer.study_state.name) == ([], "COMPLETED")


def test_without_noise_no_values_are_tried_twice(vizier: VizierServiceClient) -> None:
    flag = {"parameter_id": "flag", "categorical_value_spec": {"values": ["on", "off"]}}
    sizes = {"parameter_id": "size", "discrete_value_spec": {"values": [1, 2, 4]}}
    study = create(vizier, flag, sizes, observation_noise="LOW")
    tried_values = [values(trial) for trial in suggest(vizier, study, count=9)]
    assert len(tried_values) == 6
    assert all(tried_values.count(tried) == 1 for tried in tried_values)


def test_the_first_trial_begins_with_the_default_values(vizier: VizierServiceClient) -> None:
    x = X | {"double_value_spec": {"min_value": 0, "max_value": 10, "default_value": 7}}
    near = {"values": [1, 2, 4], "default_value": 3.5}
    study = create(vizier, x, {"parameter_id": "near", "discrete_value_spec": near})
    first, second = suggest(vizier, study, count=2)
    assert values(first) == {"x": 7, "near": 4}
    assert values(second)["x"] != 7


def test_contexts_fix_a_part_of_the_values(vizier: VizierServiceClient) -> None:
    day = {"parameter_id": "day", "categorical_value_spec": {"values": ["monday", "sunday"]}}
    study = create(vizier, X, day)

    def context(value: str) -> dict[str, Any]:
        return {"parameters": [{"parameter_id": "day", "value": value}]}

    suggested = suggest(vizier, study, count=2, contexts=[context("sunday"), context("monday")])
    assert [values(trial)["day"] for trial in suggested] == ["sunday", "monday"]
    with pytest.raises(exceptions.BadRequest, match="contexts: 1"):
        suggest(vizier, study, count=2, contexts=[context("sunday")])
    with pytest.raises(exceptions.BadRequest, match="never is 'friday'"):
        suggest(vizier, study, contexts=[context("friday")])


def test_a_trial_of_ones_own_is_suggested_before_new_ones(vizier: VizierServiceClient) -> None:
    study = create(vizier, X, {"parameter_id": "y", "double_value_spec": {"max_value": 1}})
    given = {"parameters": [{"parameter_id": "x", "value": 2.5}]}
    made = vizier.create_trial(parent=study.name, trial=given)
    assert made.state.name == "REQUESTED"
    (trial,) = suggest(vizier, study)
    assert (trial.name, trial.state.name) == (made.name, "ACTIVE")
    assert values(trial)["x"] == 2.5
    assert 0 <= values(trial)["y"] <= 1  # what was left open is suggested
    with pytest.raises(exceptions.BadRequest, match="outside 0 to 10"):
        vizier.create_trial(
            parent=study.name, trial={"parameters": [{"parameter_id": "x", "value": 11}]}
        )


def test_a_trial_that_was_run_elsewhere_counts(vizier: VizierServiceClient) -> None:
    study = create(vizier)
    done = vizier.create_trial(
        parent=study.name,
        trial={
            "parameters": [{"parameter_id": "x", "value": 3}],
            "state": "SUCCEEDED",
            "final_measurement": measured(loss=0.1),
        },
    )
    assert done.state.name == "SUCCEEDED"
    best = vizier.list_optimal_trials(request={"parent": study.name}).optimal_trials
    assert list(best) == [done]


@pytest.mark.parametrize(("count", "client"), [(0, "me"), (-1, "me"), (1, "")])
def test_a_request_for_suggestions_names_a_count_and_a_client(
    vizier: VizierServiceClient, count: int, client: str
) -> None:
    with pytest.raises(exceptions.BadRequest, match=r"suggestionCount|clientId"):
        suggest(vizier, create(vizier), count=count, client_id=client)


# ---- what becomes of trials --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "chosen"), [("LAST_MEASUREMENT", 2.0), ("BEST_MEASUREMENT", 1.0)]
)
def test_a_trial_completed_without_a_result_takes_one_that_it_has_measured(
    vizier: VizierServiceClient, selection: str, chosen: float
) -> None:
    study = create(vizier, measurement_selection_type=selection)
    (trial,) = suggest(vizier, study)
    for step, loss in ((10, 1.0), (20, 2.0), (5, 3.0)):
        added = vizier.add_trial_measurement(
            request={"trial_name": trial.name, "measurement": measured(step, loss=loss)}
        )
    assert [one.step_count for one in added.measurements] == [5, 10, 20]
    done = vizier.complete_trial(request={"name": trial.name})
    assert done.final_measurement.metrics[0].value == chosen
    with pytest.raises(exceptions.BadRequest, match="has ended: SUCCEEDED"):
        complete(vizier, trial, loss=3)


def test_a_trial_that_cannot_be_run_is_infeasible(vizier: VizierServiceClient) -> None:
    study = create(vizier)
    first, second = suggest(vizier, study, count=2)
    done = vizier.complete_trial(
        request={"name": first.name, "trial_infeasible": True, "infeasible_reason": "no memory"}
    )
    assert (done.state.name, done.infeasible_reason) == ("INFEASIBLE", "no memory")
    assert vizier.complete_trial(request={"name": second.name}).state.name == "INFEASIBLE"
    assert not vizier.list_optimal_trials(request={"parent": study.name}).optimal_trials
    (third,) = suggest(vizier, study)
    assert complete(vizier, third, loss=0).state.name == "SUCCEEDED"


@pytest.mark.parametrize("metrics", [{"los": 1.0}, {"loss": float("nan")}, {}])
def test_a_result_needs_the_studys_metrics(
    vizier: VizierServiceClient, metrics: dict[str, float]
) -> None:
    (trial,) = suggest(vizier, create(vizier))
    with pytest.raises(exceptions.BadRequest, match=r"metrics"):
        complete(vizier, trial, **metrics)
    assert vizier.get_trial(name=trial.name).state.name == "ACTIVE"


def test_several_metrics_have_a_front_of_optimal_trials(vizier: VizierServiceClient) -> None:
    study = create(vizier, metrics=[LOSS, SCORE], algorithm="RANDOM_SEARCH")
    results = [(1, 1), (2, 2), (2, 1), (3, 2), (0, 0)]  # loss, score
    trials = suggest(vizier, study, count=len(results))
    for trial, (loss, score) in zip(trials, results, strict=True):
        complete(vizier, trial, loss=loss, score=score)
    best = vizier.list_optimal_trials(request={"parent": study.name}).optimal_trials
    assert [trial.id for trial in best] == ["1", "2", "5"]
    with pytest.raises(exceptions.BadRequest, match="score is missing"):
        complete(vizier, suggest(vizier, study)[0], loss=1)


def test_a_search_for_several_metrics_learns_from_all(vizier: VizierServiceClient) -> None:
    """One wants x near 2, the other near 4: what lies between them is best."""
    study = create(vizier, metrics=[LOSS, SCORE], name="between two and four")
    for _ in range(30):
        (trial,) = suggest(vizier, study)
        x = values(trial)["x"]
        complete(vizier, trial, loss=(x - 2) ** 2, score=-((x - 4) ** 2))
    last = [values(trial)["x"] for trial in vizier.list_trials(parent=study.name)][-10:]
    assert sum(1 <= x <= 5 for x in last) >= 7


def test_a_trial_below_the_median_should_stop(vizier: VizierServiceClient) -> None:
    study = create(vizier, median_automated_stopping_spec={})
    good = suggest(vizier, study, count=3)
    for trial in good:
        for step in (1, 2):
            vizier.add_trial_measurement(
                request={"trial_name": trial.name, "measurement": measured(step, loss=1)}
            )
        vizier.complete_trial(request={"name": trial.name})
    fine, bad = suggest(vizier, study, count=2)
    for trial, loss in ((fine, 0.5), (bad, 5)):
        vizier.add_trial_measurement(
            request={"trial_name": trial.name, "measurement": measured(1, loss=loss)}
        )
    for trial, stops in ((fine, False), (bad, True)):
        check = vizier.check_trial_early_stopping_state(request={"trial_name": trial.name})
        assert check.result(timeout=60).should_stop is stops
    assert vizier.get_trial(name=bad.name).state.name == "STOPPING"
    assert vizier.complete_trial(request={"name": bad.name}).state.name == "SUCCEEDED"


def test_a_trial_that_was_stopped_should_stop_and_can_be_deleted(
    vizier: VizierServiceClient,
) -> None:
    study = create(vizier)
    (trial,) = suggest(vizier, study)
    check = {"trial_name": trial.name}
    assert not vizier.check_trial_early_stopping_state(request=check).result().should_stop
    assert vizier.stop_trial(request={"name": trial.name}).state.name == "STOPPING"
    assert vizier.check_trial_early_stopping_state(request=check).result().should_stop
    vizier.delete_trial(name=trial.name)
    assert not list(vizier.list_trials(parent=study.name))
    assert suggest(vizier, study)[0].id == "2"  # numbers are not given twice


ENDS: dict[str, Any] = {
    "so many trials": ({"max_num_trials": 3}, 3),
    "so many without progress": ({"max_num_trials_no_progress": 2}, 3),
    "but not before so many": ({"max_num_trials": 2, "min_num_trials": 4}, 4),
    "at once": ({"maximum_runtime_constraint": {"max_duration": "0s"}}, 0),
    "not within an hour": (
        {
            "maximum_runtime_constraint": {"max_duration": "0s"},
            "minimum_runtime_constraint": {"max_duration": "3600s"},
        },
        5,
    ),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_study_ends_as_its_conditions_say(vizier: VizierServiceClient, case: str) -> None:
    conditions, count = ENDS[case]
    study = create(vizier, algorithm="RANDOM_SEARCH", study_stopping_config=conditions)
    made = 0
    for _ in range(5):
        if not (trials := suggest(vizier, study)):
            break
        made += 1
        complete(vizier, trials[0], loss=made)  # the first one stays the best
    assert made == count
    ended = vizier.get_study(name=study.name).state.name
    assert ended == ("COMPLETED" if count < 5 else "ACTIVE")


def test_a_restart_of_the_server_loses_nothing(vizier: VizierServiceClient) -> None:
    study = create(vizier, name="over a restart")
    done, active = suggest(vizier, study, count=2)
    done = complete(vizier, done, loss=1)
    local_cloud.stop()
    local_cloud.activate()
    assert vizier.get_study(name=study.name) == study
    assert list(vizier.list_trials(parent=study.name)) == [done, active]
    assert suggest(vizier, study) == [active]


def test_the_same_search_is_tried_again_under_the_same_name(vizier: VizierServiceClient) -> None:
    tried = []
    for _ in range(2):
        study = create(vizier, name="the same again")
        tried.append([values(trial) for trial in suggest(vizier, study, count=3)])
        vizier.delete_study(name=study.name)
    assert tried[0] == tried[1]
