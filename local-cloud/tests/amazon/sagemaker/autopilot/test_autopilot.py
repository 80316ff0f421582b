"""Autopilot by boto3 and by version 3 of the SDK: a table in, candidates and an endpoint out."""

from __future__ import annotations

import asyncio
import csv
import io
import time
import warnings
from pathlib import Path
from typing import Any

import boto3
import pandas as pd
import pytest
from botocore.exceptions import ClientError

from local_cloud.amazon.sagemaker.autopilot import program
from local_cloud.client.control import Status
from tests.amazon.sagemaker import serving, support
from tests.amazon.sagemaker.support import ROLE
from tests.lesson_code import TABLE as TITANIC

BUCKET = "autopilot"
TABLE = f"s3://{BUCKET}/in/titanic_train.csv"
ROWS = TITANIC.read_text()


@pytest.fixture(scope="module")
def client(cloud: Status) -> Any:
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="in/titanic_train.csv", Body=ROWS.encode())
    return boto3.client("sagemaker")


def request(name: str, *algorithms: str, uri: str = TABLE, **tabular: Any) -> dict[str, Any]:
    """A request of version 2, for these algorithms."""
    source = {"S3DataType": "S3Prefix", "S3Uri": uri}
    table: dict[str, Any] = {"TargetAttributeName": "Survived", **tabular}
    if algorithms:
        table["CandidateGenerationConfig"] = {
            "AlgorithmsConfig": [{"AutoMLAlgorithms": list(algorithms)}]
        }
    return {
        "AutoMLJobName": name,
        "AutoMLJobInputDataConfig": [
            {"ChannelType": "training", "DataSource": {"S3DataSource": source}}
        ],
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "AutoMLProblemTypeConfig": {"TabularJobConfig": table},
        "RoleArn": ROLE,
    }


def version_1(name: str, **more: Any) -> dict[str, Any]:
    """A request of version 1."""
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": TABLE}}
    return {
        "AutoMLJobName": name,
        "InputDataConfig": [{"DataSource": source, "TargetAttributeName": "Survived"}],
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "RoleArn": ROLE,
        **more,
    }


def ended(client: Any, name: str, status: str = "Completed") -> tuple[Any, list[str]]:
    """The job's description when it has ended, and the secondary statuses on the way."""
    seen: list[str] = []
    end = time.monotonic() + 120
    while time.monotonic() < end:
        job = client.describe_auto_ml_job_v2(AutoMLJobName=name)
        if job["AutoMLJobSecondaryStatus"] not in seen:
            seen.append(job["AutoMLJobSecondaryStatus"])
        if job["AutoMLJobStatus"] not in ("InProgress", "Stopping"):
            assert job["AutoMLJobStatus"] == status, job.get("FailureReason")
            return job, seen
        time.sleep(0.05)
    raise AssertionError(job)


@pytest.fixture(scope="module")
def job(client: Any) -> tuple[Any, list[str]]:
    """A job that has tried two models, made by the SDK."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core import shapes
        from sagemaker.core.resources import AutoMLJobV2

    source = shapes.AutoMLS3DataSource(s3_data_type="S3Prefix", s3_uri=TABLE)
    table = shapes.TabularJobConfig(
        target_attribute_name="Survived",
        problem_type="BinaryClassification",
        completion_criteria=shapes.AutoMLJobCompletionCriteria(max_candidates=2),
    )
    made = AutoMLJobV2.create(
        auto_ml_job_name="survival",
        auto_ml_job_input_data_config=[
            shapes.AutoMLJobChannel(
                channel_type="training",
                data_source=shapes.AutoMLDataSource(s3_data_source=source),
            )
        ],
        output_data_config=shapes.AutoMLOutputDataConfig(s3_output_path=f"s3://{BUCKET}/out"),
        auto_ml_problem_type_config=shapes.AutoMLProblemTypeConfig(tabular_job_config=table),
        auto_ml_job_objective=shapes.AutoMLJobObjective(metric_name="AUC"),
        role_arn=ROLE,
    )
    assert made.auto_ml_job_status == "InProgress"
    job = ended(client, "survival")
    made.refresh()
    assert made.best_candidate.candidate_name == job[0]["BestCandidate"]["CandidateName"]
    return job


def test_a_job_ends_with_its_best_candidate(client: Any, job: tuple[Any, list[str]]) -> None:
    description, seen = job
    assert seen[-1] == "MaxCandidatesReached"
    order = ["Starting", "AnalyzingData", "ModelTuning", "MaxCandidatesReached"]
    assert [each for each in order if each in seen] == seen
    best = description["BestCandidate"]
    metric = best["FinalAutoMLJobObjectiveMetric"]
    assert (metric["MetricName"], metric["Type"]) == ("AUC", "Maximize")
    assert 0.8 < metric["Value"] < 0.95
    named = {"MetricName": "Accuracy", "StandardMetricName": "Accuracy", "Set": "Validation"}
    (accuracy,) = [
        each
        for each in best["CandidateProperties"]["CandidateMetrics"]
        if named.items() <= each.items()
    ]
    assert 0.75 < accuracy["Value"] < 0.9
    resolved = description["ResolvedAttributes"]
    assert resolved["CompletionCriteria"] == {"MaxCandidates": 2}
    old = client.describe_auto_ml_job(AutoMLJobName="survival")
    assert old["BestCandidate"] == best
    assert old["InputDataConfig"][0]["TargetAttributeName"] == "Survived"


def test_candidates_are_listed_in_any_order(client: Any, job: tuple[Any, list[str]]) -> None:
    call = client.list_candidates_for_auto_ml_job
    assert len(call(AutoMLJobName="survival")["Candidates"]) == 2
    candidates = call(
        AutoMLJobName="survival", SortBy="FinalObjectiveMetricValue", SortOrder="Descending"
    )["Candidates"]
    values = [each["FinalAutoMLJobObjectiveMetric"]["Value"] for each in candidates]
    assert values == sorted(values, reverse=True)
    assert candidates[0]["CandidateName"] == job[0]["BestCandidate"]["CandidateName"]
    assert {each["CandidateStatus"] for each in candidates} == {"Completed"}
    name = candidates[1]["CandidateName"]
    (one,) = call(AutoMLJobName="survival", CandidateNameEquals=name)["Candidates"]
    assert one["CandidateName"] == name
    assert call(AutoMLJobName="survival", StatusEquals="Failed")["Candidates"] == []
    first = call(AutoMLJobName="survival", MaxResults=1)
    second = call(AutoMLJobName="survival", MaxResults=1, NextToken=first["NextToken"])
    assert first["Candidates"] != second["Candidates"]
    assert "NextToken" not in second


def test_the_step_of_a_candidate_is_a_training_job(client: Any, job: tuple[Any, Any]) -> None:
    description = job[0]
    (step,) = description["BestCandidate"]["CandidateSteps"]
    training = client.describe_training_job(TrainingJobName=step["CandidateStepName"])
    assert training["TrainingJobArn"] == step["CandidateStepArn"]
    assert training["AutoMLJobArn"] == description["AutoMLJobArn"]


def test_the_best_candidate_answers_rows_of_csv(job: tuple[Any, list[str]]) -> None:
    (container,) = job[0]["BestCandidate"]["InferenceContainers"]
    supported = container["Environment"]["SAGEMAKER_INFERENCE_SUPPORTED"]
    environment = container["Environment"] | {"SAGEMAKER_INFERENCE_OUTPUT": supported}
    labels_only = serving.model(container["ModelDataUrl"], **container)
    everything = serving.model(
        container["ModelDataUrl"], **container | {"Environment": environment}
    )
    with (
        serving.endpoint(serving.configuration(serving.variant(labels_only))) as label,
        serving.endpoint(serving.configuration(serving.variant(everything))) as all_of_it,
    ):
        rows = list(csv.reader(io.StringIO(ROWS)))[1:201]
        body = "".join(f"{row[0]},{','.join(map(quoted, row[2:]))}\n" for row in rows)
        labels = invoke(label, body).split()
        right = sum(mine == row[1] for mine, row in zip(labels, rows, strict=True))
        assert right > 150
        answer = csv.reader(io.StringIO(invoke(all_of_it, body)))
        for mine, (predicted, chance, chances, names) in zip(labels, answer, strict=True):
            assert predicted == mine
            assert names == "['0', '1']"
            assert float(chance) == max(map(float, chances.strip("[]").split(",")))
        with pytest.raises(ClientError, match="a row has 2 values; the model takes 11"):
            invoke(label, "1,2\n")


def test_the_job_outlives_its_training_job(client: Any, job: tuple[Any, Any]) -> None:
    (step,) = job[0]["BestCandidate"]["CandidateSteps"]
    client.delete_training_job(TrainingJobName=step["CandidateStepName"])
    assert (
        client.describe_auto_ml_job_v2(AutoMLJobName="survival")["BestCandidate"]
        == (job[0]["BestCandidate"])
    )
    listed = client.list_candidates_for_auto_ml_job(AutoMLJobName="survival")["Candidates"]
    assert len(listed) == 2


def quoted(value: str) -> str:
    return f'"{value}"' if "," in value else value


def invoke(endpoint: str, body: str) -> str:
    runtime = boto3.client("sagemaker-runtime")
    answer = runtime.invoke_endpoint(EndpointName=endpoint, ContentType="text/csv", Body=body)
    return str(answer["Body"].read().decode())


def test_a_target_that_is_not_there_fails_the_job(client: Any) -> None:
    wrong = request("wrong-target", "linear-learner", TargetAttributeName="Alive")
    client.create_auto_ml_job_v2(**wrong)
    short = "\n".join(ROWS.splitlines()[:100])
    boto3.client("s3").put_object(Bucket=BUCKET, Key="short/a.csv", Body=short.encode())
    client.create_auto_ml_job_v2(**request("too-short", uri=f"s3://{BUCKET}/short/"))
    job, _ = ended(client, "wrong-target", "Failed")
    assert job["FailureReason"].startswith("ClientError: the target attribute 'Alive' is not in")
    job, _ = ended(client, "too-short", "Failed")
    assert "99 rows with a target; 500 are needed" in job["FailureReason"]
    listed = client.list_auto_ml_jobs(StatusEquals="Failed")["AutoMLJobSummaries"]
    assert {each["AutoMLJobName"] for each in listed} == {"wrong-target", "too-short"}


def test_a_job_of_version_1_is_stopped(client: Any) -> None:
    arn = client.create_auto_ml_job(**version_1("endless"))["AutoMLJobArn"]
    assert arn.endswith(":automl-job/endless")
    client.stop_auto_ml_job(AutoMLJobName="endless")
    job, _ = ended(client, "endless", "Stopped")
    assert "BestCandidate" not in job
    with pytest.raises(ClientError, match="in status Stopped"):
        client.stop_auto_ml_job(AutoMLJobName="endless")
    with pytest.raises(ClientError, match="already exists") as refused:
        client.create_auto_ml_job(**version_1("endless"))
    assert refused.value.response["Error"]["Code"] == "ResourceInUse"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"AutoMLProblemTypeConfig": {"ImageClassificationJobConfig": {}}}, "ImageClassification"),
        (
            {
                "AutoMLProblemTypeConfig": {
                    "TextClassificationJobConfig": {
                        "ContentColumn": "a",
                        "TargetLabelColumn": "b",
                    }
                }
            },
            "not implemented in the local cloud: TextClassificationJobConfig",
        ),
        ({"AutoMLJobObjective": {"MetricName": "AUC"}}, "Give both a ProblemType and"),
        ({"DataSplitConfig": {"ValidationFraction": 0.2}}, "DataSplitConfig"),
        ({"ModelDeployConfig": {"AutoGenerateEndpointName": True}}, "ModelDeployConfig"),
        ({"OutputDataConfig": {"S3OutputPath": "s3://nowhere-at-all/x"}}, "nowhere-at-all"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    client: Any, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ClientError, match=words):
        client.create_auto_ml_job_v2(**request("refused") | change)


@pytest.mark.parametrize(
    ("tabular", "words"),
    [
        ({"Mode": "HYPERPARAMETER_TUNING"}, "Mode HYPERPARAMETER_TUNING"),
        ({"SampleWeightAttributeName": "w"}, "SampleWeightAttributeName"),
        ({"ProblemType": "Regression"}, "Give both"),
    ],
)
def test_so_is_what_a_table_cannot_have(client: Any, tabular: dict[str, Any], words: str) -> None:
    with pytest.raises(ClientError, match=words):
        client.create_auto_ml_job_v2(**request("refused", **tabular))
    with pytest.raises(ClientError, match="the algorithms catboost"):
        client.create_auto_ml_job_v2(**request("refused", "catboost"))
    with pytest.raises(ClientError, match="Could not find the AutoML job"):
        client.describe_auto_ml_job(AutoMLJobName="none")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["no", "yes"], "BinaryClassification"),
        (["1", "2", "3"], "MulticlassClassification"),
        (["red", "green", "blue"], "MulticlassClassification"),
        (["0.5", "1", "2"], "Regression"),
        ([str(number) for number in range(100)], "Regression"),
    ],
)
def test_the_type_of_problem_is_inferred_from_the_target(values: list[str], problem: str) -> None:
    assert program.infer_problem_type(pd.Series(values * 6, dtype=object)) == problem


def test_a_job_that_the_servers_end_cut_off_has_failed_and_keeps_its_candidates(
    tmp_path: Path,
) -> None:
    async def begun() -> None:
        async with support.running(tmp_path) as service:
            uri = service.put("in/titanic_train.csv", ROWS)
            wanted = request("cut-off", uri=uri)
            wanted["OutputDataConfig"] = {"S3OutputPath": f"s3://{support.BUCKET}/out"}
            service("CreateAutoMLJobV2", **wanted)
            while not service("ListCandidatesForAutoMLJob", AutoMLJobName="cut-off")["Candidates"]:
                await asyncio.sleep(0.1)

    async def again() -> None:
        async with support.running(tmp_path) as service:
            description = service("DescribeAutoMLJob", AutoMLJobName="cut-off")
            assert description["AutoMLJobStatus"] == "Failed"
            assert "We encountered an internal error" in description["FailureReason"]
            (container,) = description["BestCandidate"]["InferenceContainers"]
            key = container["ModelDataUrl"].removeprefix(f"s3://{support.BUCKET}/")
            assert "./model.joblib" in service.archive(key)
            listed = service("ListCandidatesForAutoMLJob", AutoMLJobName="cut-off")["Candidates"]
            assert listed[0]["CandidateStatus"] == "Completed"

    support.go(begun())
    support.go(again())
