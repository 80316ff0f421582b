"""The metrics that training jobs report, as boto3 and the SDK read them from CloudWatch."""

from __future__ import annotations

import json
import os
import urllib.request
import warnings
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.amazon.sagemaker.support import IMAGE, ROLE

NAMESPACE = "/aws/sagemaker/TrainingJobs"
BUCKET, NAME = "metrics-in-cloudwatch", "reports-its-losses"
LOSSES = [0.5, 0.25, 0.75]
SAYS = f"for loss in {LOSSES}: print('loss=', loss, ';', sep='')"


@pytest.fixture(scope="module")
def job(cloud: object) -> dict[str, Any]:
    """A job that has said three losses; its description."""
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    client = boto3.client("sagemaker")
    client.create_training_job(
        TrainingJobName=NAME,
        AlgorithmSpecification={
            "TrainingImage": IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-c", SAYS],
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*?);"}],
        },
        RoleArn=ROLE,
        OutputDataConfig={"S3OutputPath": f"s3://{BUCKET}/out"},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 600},
    )
    waiter = client.get_waiter("training_job_completed_or_stopped")
    waiter.wait(TrainingJobName=NAME, WaiterConfig={"Delay": 1})
    job: dict[str, Any] = client.describe_training_job(TrainingJobName=NAME)
    assert job["TrainingJobStatus"] == "Completed"
    return job


def wish(job: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request for the losses of the day around the job."""
    start = job["CreationTime"].replace(hour=0, minute=0, second=0, microsecond=0)
    request = {
        "Namespace": NAMESPACE,
        "MetricName": "loss",
        "Dimensions": [{"Name": "TrainingJobName", "Value": NAME}],
        "StartTime": start,
        "EndTime": start + timedelta(days=2),
        "Period": 2 * 24 * 3600,
        "Statistics": ["Average", "Minimum", "Maximum", "Sum", "SampleCount"],
    }
    return {name: value for name, value in (request | more).items() if value is not None}


def test_statistics_are_of_what_the_job_said(job: dict[str, Any]) -> None:
    metric_statistics = boto3.client("cloudwatch").get_metric_statistics(**wish(job))
    (point,) = metric_statistics["Datapoints"]
    assert metric_statistics["Label"] == "loss" and point["Unit"] == "None"
    assert point["Timestamp"] == wish(job)["StartTime"]
    assert (point["Average"], point["Sum"], point["SampleCount"]) == (0.5, 1.5, 3)
    assert (point["Minimum"], point["Maximum"]) == (0.25, 0.75)


def test_data_of_several_metrics_come_together(job: dict[str, Any]) -> None:
    request = wish(job)
    metric = {field: request[field] for field in ("Namespace", "MetricName", "Dimensions")}
    queries: Any = [
        {"Id": word.lower(), "MetricStat": {"Metric": metric, "Period": 172800, "Stat": word}}
        for word in ("Minimum", "Maximum")
    ]
    metric_data = boto3.client("cloudwatch").get_metric_data(
        MetricDataQueries=queries, StartTime=request["StartTime"], EndTime=request["EndTime"]
    )
    values = {each["Id"]: each["Values"] for each in metric_data["MetricDataResults"]}
    assert values == {"minimum": [0.25], "maximum": [0.75]}
    assert metric_data["MetricDataResults"][0]["Timestamps"] == [request["StartTime"]]


def test_older_sdks_send_json(job: dict[str, Any]) -> None:
    request = wish(job)
    times = {name: request[name].timestamp() for name in ("StartTime", "EndTime")}
    answer = urllib.request.urlopen(
        urllib.request.Request(
            os.environ["AWS_ENDPOINT_URL"],
            json.dumps(request | times).encode(),
            {"X-Amz-Target": "GraniteServiceVersion20100801.GetMetricStatistics"},
        )
    )
    with answer:
        (point,) = json.load(answer)["Datapoints"]
    assert (point["Timestamp"], point["Sum"]) == (times["StartTime"], 1.5)


def test_the_sdks_analytics_make_a_table_of_them(job: dict[str, Any]) -> None:
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        from sagemaker.core.analytics import TrainingJobAnalytics

        table = TrainingJobAnalytics(NAME, metric_names=["loss"], period=3600).dataframe()
    assert set(table["metric_name"]) == {"loss"}
    assert table["value"].mean() == pytest.approx(0.5, abs=0.25)


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"Period": 61}, "InvalidParameterValue", "multiple of 60"),
        ({"EndTime": datetime(2020, 1, 1, tzinfo=UTC)}, "InvalidParameterValue", "less than"),
        ({"Statistics": None}, "InvalidParameterCombination", "At least one of the parameters"),
        ({"Period": 60}, "InvalidParameterCombination", "2,880 datapoints"),
        ({"Namespace": "AWS/EC2"}, "NotImplemented", "CloudWatch metrics of AWS/EC2"),
        ({"Dimensions": [{"Name": "Host", "Value": "a"}]}, "NotImplemented", "by Host"),
    ],
)
def test_what_cannot_be_is_said(
    job: dict[str, Any], changes: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(ClientError, match=words) as refused:
        boto3.client("cloudwatch").get_metric_statistics(**wish(job, **changes))
    assert refused.value.response["Error"]["Code"] == code


def test_what_nobody_reported_is_empty(job: dict[str, Any]) -> None:
    client = boto3.client("cloudwatch")
    other = [{"Name": "TrainingJobName", "Value": "another-job"}]
    for changes in ({"MetricName": "accuracy"}, {"Dimensions": other}):
        assert client.get_metric_statistics(**wish(job, **changes))["Datapoints"] == []


def test_other_calls_name_cloudwatch(cloud: object) -> None:
    with pytest.raises(ClientError, match="not implemented in the local cloud: CloudWatch ListMet"):
        boto3.client("cloudwatch").list_metrics()
