"""Search, by boto3: which resources an expression finds, and in which order."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local_cloud.amazon.sagemaker.search import expression
from local_cloud.json_types import Json

NAME = "searched"


@pytest.fixture(scope="module")
def client(cloud: object) -> Any:
    """SageMaker with an experiment of twelve trials with a component each."""
    client, metrics = boto3.client("sagemaker"), boto3.client("sagemaker-metrics")
    client.create_experiment(ExperimentName=NAME, Tags=[{"Key": "team", "Value": "blue"}])
    for number in range(12):
        name = f"{NAME}-{number:02}"
        client.create_trial(ExperimentName=NAME, TrialName=name)
        client.create_trial_component(
            TrialComponentName=name,
            DisplayName="Training",
            Parameters={
                "hp1": {"NumberValue": number},
                "SageMaker.InstanceType": {"StringValue": f"ml.m5.{number % 2}"},
            },
        )
        client.associate_trial_component(TrialComponentName=name, TrialName=name)
        point = {"MetricName": "test:accuracy", "Timestamp": _now(), "Value": 1 - number / 100}
        metrics.batch_put_metrics(TrialComponentName=name, MetricData=[point])
    return client


def _now() -> float:
    import time

    return time.time()


def equals(name: str, value: str, operator: str = "Equals") -> Json:
    """A filter."""
    return {"Name": name, "Operator": operator, "Value": value}


MINE = equals("Parents.ExperimentName", NAME)


def found(client: Any, *filters: Json, resource: str = "ExperimentTrialComponent", **more: Any):  # type: ignore[no-untyped-def]
    """The numbers of the components, or the names of others, that satisfy all filters."""
    wanted = {"Filters": list(filters)} | more.pop("expression", {})
    pages = client.get_paginator("search").paginate(
        Resource=resource, SearchExpression=wanted, **more
    )
    results = [next(iter(one.values())) for page in pages for one in page["Results"]]
    names = [one.get("TrialComponentName") or one.get("TrialName") for one in results]
    return [int(name.rpartition("-")[2]) for name in names]


def test_components_are_found_by_parents_parameters_and_metrics(client: Any) -> None:
    assert found(client, MINE) == list(range(11, -1, -1))  # what was changed last comes first
    above = equals("Parameters.hp1", "9", "GreaterThan")
    assert found(client, MINE, above, SortBy="Parameters.hp1", SortOrder="Ascending") == [10, 11]
    good = equals("Metrics.test:accuracy", "0.985", "GreaterThanOrEqualTo")
    assert set(found(client, MINE, good)) == {0, 1}
    best = {"SortBy": "metrics.test:accuracy.max", "SortOrder": "Descending"}
    assert found(client, MINE, **best) == list(range(12))
    assert set(found(client, MINE, equals("Parameters.SageMaker.InstanceType", "ml.m5.1"))) == {
        *range(1, 12, 2)
    }
    assert found(client, MINE, equals("TrialComponentName", f"{NAME}-03,{NAME}-04", "In")) == [4, 3]
    assert found(client, MINE, equals("TrialComponentName", "searched-1", "Contains")) == [11, 10]
    assert len(found(client, MINE, equals("Parameters.hp1", "3", "NotEquals"))) == 11
    assert found(client, MINE, equals("Parameters.no", "x", "Exists")) == []
    assert found(client, MINE, equals("CreationTime", "2020-01-01T00:00:00", "LessThan")) == []


def test_subexpressions_and_nested_filters(client: Any) -> None:
    parents = {"NestedPropertyName": "Parents", "Filters": [MINE]}
    parents["Filters"] = [MINE, equals("Parents.TrialName", f"{NAME}-05")]
    assert found(client, MINE, expression={"NestedFilters": [parents]}) == [5]
    either = {
        "Filters": [equals("Parameters.hp1", "2"), equals("Parameters.hp1", "7")],
        "Operator": "Or",
    }
    assert found(client, MINE, expression={"SubExpressions": [either]}) == [7, 2]


def test_experiments_and_trials_are_found_with_what_is_in_them(client: Any) -> None:
    team = {"Filters": [equals("Tags.team", "blue")]}
    answer = client.search(Resource="Experiment", SearchExpression=team)
    (experiment,) = [one["Experiment"] for one in answer["Results"]]
    assert experiment["ExperimentName"] == NAME
    assert experiment["Tags"] == [{"Key": "team", "Value": "blue"}]
    assert answer["TotalHits"]["Value"] == 1
    wanted = {"Filters": [equals("TrialName", f"{NAME}-03")]}
    (match,) = client.search(Resource="ExperimentTrial", SearchExpression=wanted)["Results"]
    (component,) = match["Trial"]["TrialComponentSummaries"]
    assert component["TrialComponentName"] == f"{NAME}-03"


def test_what_cannot_be_searched_is_refused(client: Any) -> None:
    for wish, code, sentence in (
        ({"Resource": "FeatureGroup"}, "NotImplemented", "Search of FeatureGroup; it finds"),
        ({"SortBy": "Nothing"}, "ValidationException", "Unknown property name: Nothing"),
        ({"SearchExpression": {}}, "ValidationException", "at least one filter"),
        (
            {"SearchExpression": {"Filters": [equals("DisplayName", "3", "LessThan")]}},
            "ValidationException",
            "LessThan is not supported for text properties",
        ),
        (
            {"SearchExpression": {"Filters": [equals("CreationTime", "soon")]}},
            "ValidationException",
            "neither a number nor a time",
        ),
    ):
        with pytest.raises(ClientError, match=sentence) as caught:
            client.search(**({"Resource": "ExperimentTrialComponent"} | wish))
        assert caught.value.response["Error"]["Code"] == code


def test_hyperparameters_are_numbers_whole_ones_where_the_value_is() -> None:
    """The rule that Filter's page states for decimal hyperparameters."""
    job = {"HyperParameters": {"rate": "0.7", "name": "adam", "most": "inf"}}

    def fits(name: str, operator: str, value: str) -> bool:
        return expression.matches(job, {"Filters": [equals(name, value, operator)]})

    assert fits("HyperParameters.rate", "LessThan", "0.8")
    assert fits("HyperParameters.rate", "LessThan", "1")
    assert not fits("HyperParameters.rate", "GreaterThan", "0")  # 0.7 counts as 0
    assert not fits("HyperParameters.name", "GreaterThan", "0")
    assert fits("HyperParameters.most", "GreaterThan", "3")
