"""Experiments, trials, trial components and their metrics, by boto3 and by version 3 of the SDK."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_cloud.client.control import Status

BUCKET = "experiments-of-runs"
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def sdk(cloud: Status) -> SimpleNamespace:
    """The clients and the SDK's classes."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import boto3
        from botocore.exceptions import ClientError
        from sagemaker.core.experiments.experiment import Experiment
        from sagemaker.core.experiments.run import Run, list_runs, load_run
        from sagemaker.core.helper.session_helper import Session

    boto3.client("s3").create_bucket(Bucket=BUCKET)
    return SimpleNamespace(
        client=boto3.client("sagemaker"),
        metrics=boto3.client("sagemaker-metrics"),
        ClientError=ClientError,
        Experiment=Experiment,
        Run=Run,
        list_runs=list_runs,
        load_run=load_run,
        session=Session(default_bucket=BUCKET),
    )


@pytest.fixture
def name() -> str:
    """A name that nothing else has."""
    return f"runs-test-{next(NUMBERS):03}"


def make(sdk: SimpleNamespace, name: str) -> None:
    """An experiment, a trial in it and a component of that, all with this name."""
    sdk.client.create_experiment(ExperimentName=name)
    sdk.client.create_trial(ExperimentName=name, TrialName=name)
    sdk.client.create_trial_component(TrialComponentName=name)
    sdk.client.associate_trial_component(TrialComponentName=name, TrialName=name)


def refused(call: Any, code: str, sentence: str, **params: Any) -> None:
    """Require that a call is refused in these words."""
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError, match=sentence) as refusal:
        call(**params)
    assert refusal.value.response["Error"]["Code"] == code


def test_an_experiment_holds_trials_and_they_hold_components(
    sdk: SimpleNamespace, name: str
) -> None:
    make(sdk, name)
    sdk.client.update_experiment(ExperimentName=name, Description="which rate is best")
    experiment = sdk.client.describe_experiment(ExperimentName=name)
    assert experiment["Description"] == "which rate is best"
    assert experiment["DisplayName"] == name
    assert experiment["LastModifiedTime"] > experiment["CreationTime"]
    trial = sdk.client.describe_trial(TrialName=name)
    assert trial["ExperimentName"] == name
    (listed,) = sdk.client.list_trials(ExperimentName=name)["TrialSummaries"]
    assert listed["TrialArn"] == trial["TrialArn"]
    (listed,) = sdk.client.list_trials(TrialComponentName=name)["TrialSummaries"]
    assert listed["TrialName"] == name
    for of in ({"ExperimentName": name}, {"TrialName": name}):
        (listed,) = sdk.client.list_trial_components(**of)["TrialComponentSummaries"]
        assert listed["TrialComponentName"] == name


def test_each_goes_when_nothing_belongs_to_it(sdk: SimpleNamespace, name: str) -> None:
    make(sdk, name)
    client, invalid = sdk.client, "ValidationException"
    refused(client.delete_experiment, invalid, "has trials", ExperimentName=name)
    refused(client.delete_trial, invalid, "has trial components", TrialName=name)
    refused(client.delete_trial_component, invalid, "associated with", TrialComponentName=name)
    client.disassociate_trial_component(TrialComponentName=name, TrialName=name)
    client.delete_trial_component(TrialComponentName=name)
    client.delete_trial(TrialName=name)
    client.delete_experiment(ExperimentName=name)
    gone, said = "ResourceNotFound", f"'{name}' does not exist"
    refused(client.describe_trial_component, gone, said, TrialComponentName=name)
    refused(client.describe_trial, gone, said, TrialName=name)
    refused(client.describe_experiment, gone, said, ExperimentName=name)


def test_names_are_unique_whatever_their_case(sdk: SimpleNamespace, name: str) -> None:
    make(sdk, name)
    said = "names must be unique within an AWS account and region. .* already exists"
    again = {"ExperimentName": name.upper()}
    refused(sdk.client.create_experiment, "ValidationException", said, **again)
    again |= {"TrialName": name.upper()}
    refused(sdk.client.create_trial, "ValidationException", said, **again)
    missing = {"ExperimentName": "nowhere", "TrialName": f"{name}-2"}
    refused(sdk.client.create_trial, "ResourceNotFound", "'nowhere' does not exist", **missing)


def test_entries_of_a_component_are_added_and_removed(sdk: SimpleNamespace, name: str) -> None:
    """The expectation of test_save in the system tests of sagemaker-experiments."""
    sdk.client.create_trial_component(
        TrialComponentName=name, Parameters={"kept": {"NumberValue": 1}}
    )
    sdk.client.update_trial_component(
        TrialComponentName=name,
        Parameters={"foo": {"StringValue": "bar"}, "whizz": {"NumberValue": 100.1}},
        ParametersToRemove=["foo"],
        OutputArtifacts={"fly": {"Value": "s3://sky/far", "MediaType": "away/tomorrow"}},
        Status={"PrimaryStatus": "InProgress", "Message": "half way"},
    )
    component = sdk.client.describe_trial_component(TrialComponentName=name)
    assert component["Parameters"] == {"kept": {"NumberValue": 1}, "whizz": {"NumberValue": 100.1}}
    assert component["OutputArtifacts"]["fly"]["MediaType"] == "away/tomorrow"
    assert component["Status"] == {"PrimaryStatus": "InProgress", "Message": "half way"}
    many = {f"p{number}": {"NumberValue": number} for number in range(299)}
    update = sdk.client.update_trial_component
    said = "300 entries at most"
    refused(update, "ValidationException", said, TrialComponentName=name, Parameters=many)


def test_lists_have_pages_an_order_and_times(sdk: SimpleNamespace, name: str) -> None:
    before = time.time()
    sdk.client.create_experiment(ExperimentName=name)
    names = [f"{name}-{number}" for number in range(12)]
    for each in names:
        sdk.client.create_trial(ExperimentName=name, TrialName=each)

    def listed(**params: Any) -> list[str]:
        pages = sdk.client.get_paginator("list_trials").paginate(ExperimentName=name, **params)
        return [one["TrialName"] for page in pages for one in page["TrialSummaries"]]

    assert listed() == names[::-1]
    assert listed(SortOrder="Ascending") == names
    assert listed(SortBy="Name", SortOrder="Ascending") == sorted(names)
    assert listed(CreatedBefore=before) == []
    assert len(sdk.client.list_trials(ExperimentName=name)["TrialSummaries"]) == 10


def test_metrics_are_summed_up_and_bad_ones_named(sdk: SimpleNamespace, name: str) -> None:
    sdk.client.create_trial_component(TrialComponentName=name)
    now = time.time()
    points = [
        {"MetricName": "loss", "Timestamp": now + step, "Step": step, "Value": value}
        for step, value in enumerate([0.5, 0.25, 0.75])
    ]
    old = {"MetricName": "loss", "Timestamp": now - 15 * 86400, "Value": 9.0}
    answer = sdk.metrics.batch_put_metrics(TrialComponentName=name, MetricData=[*points, old])
    assert answer["Errors"] == [{"Code": "VALIDATION_ERROR", "MetricIndex": 3}]
    component = sdk.client.describe_trial_component(TrialComponentName=name)
    (metric,) = component["Metrics"]
    assert metric["SourceArn"] == component["TrialComponentArn"]
    wanted = {"Min": 0.25, "Max": 0.75, "Avg": 0.5, "Last": 0.75, "Count": 3}
    assert wanted.items() <= metric.items()
    assert metric["StdDev"] == pytest.approx(math.sqrt(2 / 3) / 4)
    put = sdk.metrics.batch_put_metrics
    missing = {"TrialComponentName": "nowhere", "MetricData": points}
    refused(put, "ResourceNotFound", "does not exist", **missing)
    queries = {"MetricName": "loss", "ResourceArn": metric["SourceArn"], "MetricStat": "Max"}
    queries |= {"Period": "OneMinute", "XAxisType": "Timestamp"}
    said = "not implemented in the local cloud: SageMaker Metrics BatchGetMetrics"
    refused(sdk.metrics.batch_get_metrics, "NotImplemented", said, MetricQueries=[queries])


@pytest.mark.filterwarnings("ignore")
def test_the_run_of_the_sdk(sdk: SimpleNamespace, name: str, tmp_path: Path) -> None:
    """The expectations of the SDK's own system tests of runs."""
    (tmp_path / "notes.txt").write_text("about the data")
    session = {"sagemaker_session": sdk.session}
    with sdk.Run(experiment_name=name, run_name="one", **session) as run:
        assert run._trial_component.status.primary_status == "InProgress"
        run.log_parameters({"pa": 1.0, "pb": "p2-value"})
        run.log_file(str(tmp_path / "notes.txt"), name="notes")
        run.log_artifact(name="in", value="s3://Input", is_output=False)
        run.log_confusion_matrix([0, 1, 1], [0, 1, 0], title="confused")
        for step in range(10):
            run.log_metric("step", step, step=step)
    component = sdk.client.describe_trial_component(TrialComponentName=f"{name}-one")
    assert component["Status"]["PrimaryStatus"] == "Completed"
    assert component["Parameters"] == {
        "pa": {"NumberValue": 1.0},
        "pb": {"StringValue": "p2-value"},
    }
    assert component["OutputArtifacts"]["notes"]["MediaType"] == "text/plain"
    assert component["InputArtifacts"] == {"in": {"Value": "s3://Input"}}
    (metric,) = component["Metrics"]
    assert (metric["Max"], metric["Min"], metric["Count"]) == (9.0, 0.0, 10)
    (shown,) = sdk.client.list_associations(SourceArn=component["TrialComponentArn"])[
        "AssociationSummaries"
    ]
    assert (shown["DestinationName"], shown["DestinationType"]) == ("confused", "ConfusionMatrix")
    with sdk.load_run(experiment_name=name, run_name="one", **session) as run:
        run.log_parameter("pa", 2.0)
    sdk.client.create_trial_component(TrialComponentName=f"{name}-not-a-run")
    group = f"Default-Run-Group-{name}"
    both = {"TrialComponentName": f"{name}-not-a-run", "TrialName": group}
    sdk.client.associate_trial_component(**both)
    (only,) = sdk.list_runs(experiment_name=name, **session)
    assert only.run_name == "one"
    with pytest.raises(ZeroDivisionError), sdk.Run(name, "fails", **session):
        _ = 1 / 0
    failed = sdk.client.describe_trial_component(TrialComponentName=f"{name}-fails")
    assert failed["Status"] == {"PrimaryStatus": "Failed", "Message": "division by zero"}
