"""What is tracked of each job by itself: its trial component, and artifacts connected with it."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.amazon.sagemaker.support import IMAGE, ROLE

BUCKET = "tracked-jobs"
DATA, OUT = f"s3://{BUCKET}/in/", f"s3://{BUCKET}/out"
LOSSES = [0.5, 0.25, 0.75]
# The last line has no end, as that of a script that is not tidy.
WORKS = f"""
import pathlib, sys
pathlib.Path("/opt/ml/model/weights").write_text("w")
sys.stdout.write("\\n".join(f"loss={{loss}};" for loss in {LOSSES}))
"""


@pytest.fixture(scope="module")
def client(cloud: object) -> Any:
    """SageMaker, and a bucket with something to read."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="in/rows.csv", Body=b"1,2\n")
    return boto3.client("sagemaker")


def send(client: Any, name: str, **more: Any) -> str:
    """Send a training job, wait for its end, and return its ARN."""
    arn: str = client.create_training_job(
        TrainingJobName=name,
        AlgorithmSpecification={
            "TrainingImage": IMAGE,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "-c", WORKS],
            "MetricDefinitions": [{"Name": "test:loss", "Regex": "loss=(.*?);"}],
        },
        HyperParameters={"epochs": "3", "optimizer": '"adam"'},
        InputDataConfig=[
            {
                "ChannelName": "train",
                "ContentType": "text/csv",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": DATA}},
            }
        ],
        RoleArn=ROLE,
        OutputDataConfig={"S3OutputPath": OUT},
        ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
        StoppingCondition={"MaxRuntimeInSeconds": 600},
        **more,
    )["TrainingJobArn"]
    waiter = client.get_waiter("training_job_completed_or_stopped")
    waiter.wait(TrainingJobName=name, WaiterConfig={"Delay": 1})
    return arn


@pytest.fixture(scope="module")
def arn(client: Any) -> str:
    """A job of no experiment that has ended: its ARN."""
    return send(client, "Tracked")


def test_a_training_job_is_a_trial_component(client: Any, arn: str) -> None:
    job = client.describe_training_job(TrainingJobName="Tracked")
    component = client.describe_trial_component(TrialComponentName="Tracked-aws-training-job")
    assert component["Source"] == {"SourceArn": arn, "SourceType": "SageMakerTrainingJob"}
    assert component["DisplayName"] == "Tracked-aws-training-job"
    assert component["Parameters"] == {
        "epochs": {"NumberValue": 3.0},
        "optimizer": {"StringValue": '"adam"'},
        "SageMaker.ImageUri": {"StringValue": IMAGE},
        "SageMaker.InstanceCount": {"NumberValue": 1.0},
        "SageMaker.InstanceType": {"StringValue": "ml.m5.large"},
        "SageMaker.VolumeSizeInGB": {"NumberValue": 10.0},
    }
    assert component["InputArtifacts"] == {"train": {"Value": DATA, "MediaType": "text/csv"}}
    model = f"{OUT}/Tracked/output/model.tar.gz"
    assert component["OutputArtifacts"] == {"SageMaker.ModelArtifact": {"Value": model}}
    assert component["Status"]["PrimaryStatus"] == "Completed"
    assert (component["StartTime"], component["EndTime"]) == (
        job["TrainingStartTime"],
        job["TrainingEndTime"],
    )
    (metric,) = component["Metrics"]
    wanted = {"MetricName": "test:loss", "SourceArn": arn, "Count": 3}
    wanted |= {"Min": 0.25, "Max": 0.75, "Avg": 0.5, "Last": 0.75}
    assert wanted.items() <= metric.items()
    # The SDK asks with the ARN in lower case.
    (listed,) = client.list_trial_components(SourceArn=arn.lower())["TrialComponentSummaries"]
    assert listed["TrialComponentSource"] == component["Source"]


def test_what_it_read_and_made_are_artifacts(client: Any, arn: str) -> None:
    component = client.describe_trial_component(TrialComponentName="Tracked-aws-training-job")
    inner = component["TrialComponentArn"]
    read = client.list_associations(DestinationArn=inner)["AssociationSummaries"]
    assert {(one["SourceType"], one["AssociationType"]) for one in read} == {
        ("Image", "ContributedTo"),
        ("DataSet", "ContributedTo"),
    }
    (made,) = client.list_associations(SourceArn=inner)["AssociationSummaries"]
    assert (made["DestinationType"], made["AssociationType"]) == ("Model", "Produced")
    (model,) = client.list_artifacts(SourceUri=f"{OUT}/Tracked/output/model.tar.gz")[
        "ArtifactSummaries"
    ]
    graph_found = client.query_lineage(
        StartArns=[model["ArtifactArn"]],
        Direction="Ascendants",
        Filters={"LineageTypes": ["TrialComponent"], "Types": ["TrainingJob"]},
    )
    assert [vertex["Arn"] for vertex in graph_found["Vertices"]] == [inner]


def test_an_experiment_config_makes_it_part_of_a_trial(client: Any, arn: str) -> None:
    client.create_experiment(ExperimentName="of-jobs")
    client.create_trial(ExperimentName="of-jobs", TrialName="of-jobs-trial")
    client.create_trial_component(TrialComponentName="of-jobs-run")
    config = {
        "ExperimentName": "of-jobs",
        "TrialName": "of-jobs-trial",
        "TrialComponentDisplayName": "Training",
        "RunName": "of-jobs-run",
    }
    made = send(client, "in-a-trial", ExperimentConfig=config)
    (listed,) = client.list_trial_components(TrialName="of-jobs-trial")["TrialComponentSummaries"]
    assert listed["DisplayName"] == "Training"
    run = client.describe_trial_component(TrialComponentName="of-jobs-run")
    assert [source["SourceArn"] for source in run["Sources"]] == [made]
    send(client, "in-a-new-trial", ExperimentConfig={"ExperimentName": "of-jobs"})
    trials = client.list_trials(ExperimentName="of-jobs")["TrialSummaries"]
    assert len(trials) == 2
    for config, sentence in (
        ({"ExperimentName": "nowhere"}, "Experiment 'nowhere' does not exist"),
        ({"TrialName": "nowhere"}, "Trial 'nowhere' does not exist"),
    ):
        with pytest.raises(ClientError, match=sentence):
            send(client, "not-sent", ExperimentConfig=config)
        with pytest.raises(ClientError, match="Requested resource not found"):
            client.describe_training_job(TrainingJobName="not-sent")


def test_a_component_stays_as_it_was_when_its_job_is_deleted(client: Any) -> None:
    name = {"TrialComponentName": "goes-aws-training-job"}
    send(client, "goes")
    client.update_trial_component(
        **name,
        Parameters={"note": {"StringValue": "the best"}},
        ParametersToRemove=["optimizer"],
    )
    before = client.describe_trial_component(**name)
    assert before["Parameters"]["note"] == {"StringValue": "the best"}
    assert "optimizer" not in before["Parameters"]
    client.delete_training_job(TrainingJobName="goes")
    after = client.describe_trial_component(**name)
    for field in ("Parameters", "OutputArtifacts", "Status", "Metrics", "EndTime"):
        assert after[field] == before[field]
    client.delete_trial_component(**name)
    arn = before["TrialComponentArn"]
    assert client.list_associations(SourceArn=arn)["AssociationSummaries"] == []


def test_a_processing_job_is_tracked_too(client: Any) -> None:
    """Those of a job without channels are the values in the tests of sagemaker-experiments."""
    made = client.create_processing_job(
        ProcessingJobName="tracked",
        AppSpecification={"ImageUri": IMAGE, "ContainerEntrypoint": ["true"]},
        ProcessingResources={
            "ClusterConfig": {
                "InstanceType": "ml.m5.large",
                "InstanceCount": 1,
                "VolumeSizeInGB": 10,
            }
        },
        ProcessingOutputConfig={
            "Outputs": [
                {
                    "OutputName": "metrics",
                    "S3Output": {
                        "S3Uri": f"{OUT}/metrics",
                        "LocalPath": "/opt/ml/processing/metrics",
                        "S3UploadMode": "EndOfJob",
                    },
                }
            ]
        },
        RoleArn=ROLE,
    )["ProcessingJobArn"]
    waiter = client.get_waiter("processing_job_completed_or_stopped")
    waiter.wait(ProcessingJobName="tracked", WaiterConfig={"Delay": 1})
    component = client.describe_trial_component(TrialComponentName="tracked-aws-processing-job")
    assert component["Source"] == {"SourceArn": made, "SourceType": "SageMakerProcessingJob"}
    assert component["Parameters"] == {
        "SageMaker.InstanceCount": {"NumberValue": 1.0},
        "SageMaker.InstanceType": {"StringValue": "ml.m5.large"},
        "SageMaker.VolumeSizeInGB": {"NumberValue": 10.0},
    }
    assert component["InputArtifacts"] == {"SageMaker.ImageUri": {"Value": IMAGE}}
    assert component["OutputArtifacts"] == {"metrics": {"Value": f"{OUT}/metrics"}}
    assert component["Status"] == {
        "PrimaryStatus": "Completed",
        "Message": "Status: Completed, exit message: null, failure reason: null",
    }
    (left,) = client.list_associations(SourceArn=component["TrialComponentArn"])[
        "AssociationSummaries"
    ]
    assert left["DestinationType"] == "DataSet"
