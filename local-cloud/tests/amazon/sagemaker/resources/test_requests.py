"""What is refused, and in which words; lists, tags, and what a job can be changed to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cloud.amazon.sagemaker.instances.types import device, gpus_of
from local_cloud.amazon.sagemaker.resources import listing
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.billing import prices
from local_cloud.engine import machine
from local_cloud.json_types import Json
from tests.amazon.sagemaker.conftest import SharedService
from tests.amazon.sagemaker.support import BUCKET, Refusal, Service, channel, go, request, running

INVALID = "ValidationException"
MISSING = "NotImplemented"


def refused(
    sagemaker: Service | SharedService, operation: str, code: str, sentence: str, **params: Any
) -> None:
    with pytest.raises(Refusal) as refusal:
        sagemaker(operation, **params)
    assert sentence in str(refusal.value)
    assert refusal.value.code == code


def resources(**changes: Any) -> Json:
    return {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30} | changes


def train(address: str = f"s3://{BUCKET}/here", **changes: Any) -> list[Json]:
    return [channel("train", address) | changes]


MANIFEST = {"S3DataSource": {"S3DataType": "ManifestFile", "S3Uri": f"s3://{BUCKET}/here"}}
FILE_SYSTEM = {
    "FileSystemDataSource": {
        "FileSystemId": "fs-0123456789a",
        "FileSystemAccessMode": "ro",
        "FileSystemType": "EFS",
        "DirectoryPath": "/",
    }
}


@pytest.mark.parametrize(
    ("changes", "code", "sentence"),
    [
        ({"TrainingJobName": "a_b"}, INVALID, "at 'trainingJobName' failed to satisfy constraint"),
        ({"RoleArn": "SageMakerExecutionRole"}, INVALID, "at 'roleArn' failed"),
        ({"ResourceConfig": None}, INVALID, "ResourceConfig needs an InstanceType"),
        ({"ResourceConfig": resources(InstanceCount=0)}, INVALID, "InstanceCount of 1 or more"),
        ({"ResourceConfig": resources(InstanceType="ml.x1.tiny")}, INVALID, "enum value set"),
        ({"AlgorithmSpecification": {"TrainingImage": ""}}, INVALID, "TrainingImage is required"),
        (
            {"AlgorithmSpecification": {"AlgorithmName": "xgboost"}},
            MISSING,
            "AlgorithmSpecification.AlgorithmName",
        ),
        (
            {
                "AlgorithmSpecification": {
                    "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*"}]
                }
            },
            INVALID,
            "Metric loss: 'loss=(.*' is no regular expression",
        ),
        ({"OutputDataConfig": {"S3OutputPath": "s3://nowhere/x"}}, INVALID, "no bucket nowhere"),
        ({"OutputDataConfig": {"S3OutputPath": "https://a/b"}}, INVALID, "is not an s3:// URI"),
        ({"CheckpointConfig": {"S3Uri": "s3://nowhere/x"}}, INVALID, "CheckpointConfig.S3Uri"),
        (
            {"TensorBoardOutputConfig": {"S3OutputPath": "s3://nowhere/x"}},
            INVALID,
            "TensorBoardOutputConfig.S3OutputPath: there is no bucket nowhere",
        ),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 2_419_201}}, INVALID, "(28 days) at most"),
        ({"Tags": [{"Key": "aws:mine", "Value": "x"}]}, INVALID, "cannot begin with aws:"),
        ({"EnableManagedSpotTraining": True}, INVALID, "Invalid MaxWaitTimeInSeconds"),
        (
            {
                "EnableManagedSpotTraining": True,
                "StoppingCondition": {"MaxRuntimeInSeconds": 20, "MaxWaitTimeInSeconds": 10},
            },
            INVALID,
            "Invalid MaxWaitTimeInSeconds",
        ),
        (
            {"StoppingCondition": {"MaxRuntimeInSeconds": 20, "MaxWaitTimeInSeconds": 30}},
            INVALID,
            "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is",
        ),
        (
            {
                "EnableManagedSpotTraining": True,
                "StoppingCondition": {"MaxRuntimeInSeconds": 20, "MaxWaitTimeInSeconds": 20},
                "ResourceConfig": resources(KeepAlivePeriodInSeconds=60),
            },
            INVALID,
            "managed warm pools cannot be used with managed spot training",
        ),
        (
            {"ResourceConfig": resources(InstanceType="ml.g4dn.xlarge", VolumeKmsKeyId="a-key")},
            INVALID,
            "ResourceConfig.VolumeKmsKeyId cannot be requested for ml.g4dn.xlarge",
        ),
        ({"Tags": [{"Key": "a", "Value": value} for value in "bc"]}, INVALID, "Duplicate tag key"),
        ({"InputDataConfig": train(f"s3://{BUCKET}/there")}, INVALID, "No S3 objects found under"),
        ({"InputDataConfig": train("s3://nowhere/x")}, INVALID, "No S3 objects found under"),
        ({"InputDataConfig": train() * 2}, INVALID, "two channels have the same name"),
        ({"InputDataConfig": [channel("..", f"s3://{BUCKET}/here")]}, INVALID, "called '..'"),
        ({"InputDataConfig": train(InputMode="Pipe")}, MISSING, "the input mode Pipe"),
        ({"InputDataConfig": train(CompressionType="Gzip")}, MISSING, "CompressionType Gzip"),
        ({"InputDataConfig": train(RecordWrapperType="RecordIO")}, MISSING, "RecordIO"),
        ({"InputDataConfig": train(DataSource=MANIFEST)}, MISSING, "S3DataType ManifestFile"),
        ({"InputDataConfig": train(DataSource=FILE_SYSTEM)}, MISSING, "FileSystemDataSource"),
        ({"InputDataConfig": train(DataSource={})}, INVALID, "needs a DataSource.S3DataSource"),
        (
            {
                "DebugRuleConfigurations": [
                    {"RuleConfigurationName": "x", "RuleEvaluatorImage": "y"}
                ]
            },
            MISSING,
            "DebugRuleConfigurations",
        ),
        ({"HyperParameters": {"a": "b" * 2501}}, INVALID, "less than or equal to 2500"),
        ({"Enviroment": {}}, "SerializationException", "enviroment: unknown member"),
    ],
)
def test_a_request_is_checked_when_it_comes(
    shared: SharedService, changes: Json, code: str, sentence: str
) -> None:
    shared.put("here/x", "")
    params = request(**{"name": changes.get("TrainingJobName", "a-job")} | changes)
    refused(shared, "CreateTrainingJob", code, sentence, **params)
    assert shared("ListTrainingJobs") == {"TrainingJobSummaries": []}


def test_a_request_may_be_at_the_limits(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sagemaker.put("here/x", "")
            limits = {"MaxRuntimeInSeconds": 20, "MaxWaitTimeInSeconds": 20}
            for name, changes in {
                "groups": {"ResourceConfig": resources(InstanceGroups=[])},
                "waits": {"EnableManagedSpotTraining": True, "StoppingCondition": limits},
                "key": {"ResourceConfig": resources(VolumeKmsKeyId="a-key")},
                "mode": {"InputDataConfig": train(InputMode="FastFile")},
            }.items():
                sagemaker("CreateTrainingJob", **request(name, **changes))

    go(story())


def test_a_name_is_used_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sagemaker.send()
            words = f"a training job with this name already exists ({arn('training-job/a-job')})"
            refused(sagemaker, "CreateTrainingJob", "ResourceInUse", words, **request())
            await sagemaker.end("a-job")

    go(story())


@pytest.mark.parametrize("verb", ["Describe", "Stop", "Delete", "Update"])
def test_a_job_that_is_not_there(shared: SharedService, verb: str) -> None:
    words = "Requested resource not found."
    refused(shared, f"{verb}TrainingJob", INVALID, words, TrainingJobName="no")


def test_what_is_missing_is_refused_by_name(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            refused(sagemaker, "ListLabelingJobs", MISSING, "SageMaker ListLabelingJobs")
            sagemaker.send(script="import time; time.sleep(600)")
            rules = [{"RuleConfigurationName": "x", "RuleEvaluatorImage": "y"}]
            params = {"TrainingJobName": "a-job", "ProfilerRuleConfigurations": rules}
            refused(sagemaker, "UpdateTrainingJob", MISSING, "ProfilerRuleConfigurations", **params)

    go(story())


def test_a_job_that_has_not_ended_can_be_changed_where_the_service_allows_it(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            sagemaker.send(script="import time; time.sleep(600)")
            change = {"ResourceConfig": {"KeepAlivePeriodInSeconds": 60}}
            sagemaker("UpdateTrainingJob", TrainingJobName="a-job", **change)
            job = sagemaker("DescribeTrainingJob", TrainingJobName="a-job")
            assert job["ResourceConfig"] == resources(KeepAlivePeriodInSeconds=60)
            sagemaker("StopTrainingJob", TrainingJobName="a-job")
            await sagemaker.end("a-job", "Stopped")
            words = "the training job is in status Stopped"
            refused(sagemaker, "UpdateTrainingJob", INVALID, words, TrainingJobName="a-job")

    go(story())


def test_a_job_is_described_as_it_was_asked_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            asked = {
                "HyperParameters": {"lr": "0.1"},
                "Environment": {"MINE": "yes"},
                "EnableManagedSpotTraining": True,
                "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 90},
                "ResourceConfig": resources(InstanceType="ml.g4dn.xlarge"),
            }
            job = await sagemaker.run("pass", **asked)
            assert {name: job[name] for name in asked} == asked
            assert job["TrainingJobArn"] == arn("training-job/a-job")
            assert "ml.g4dn.xlarge has 1 GPUs, this machine has 0" in sagemaker.log("a-job")

    go(story())


class TestDelete:
    def test_a_job_that_has_ended_is_forgotten(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                await sagemaker.run("open('/opt/ml/model/x', 'w').close()")
                sagemaker("DeleteTrainingJob", TrainingJobName="a-job")
                assert sagemaker("ListTrainingJobs") == {"TrainingJobSummaries": []}
                assert sagemaker.keys("out/") == ["out/a-job/output/model.tar.gz"]
                tags = {"ResourceArn": arn("training-job/a-job")}
                refused(sagemaker, "ListTags", INVALID, "Requested resource not found", **tags)
                await sagemaker.run("pass")  # the name is free again

        go(story())

    def test_a_job_that_runs_is_in_use(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.send(script="import time; time.sleep(600)")
                words = "The training job a-job is in status InProgress; stop it first."
                name = {"TrainingJobName": "a-job"}
                refused(sagemaker, "DeleteTrainingJob", "ResourceInUse", words, **name)

        go(story())


class TestList:
    def test_filters_order_and_pages(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                for number, script in enumerate(["pass", "raise SystemExit(1)", "pass"]):
                    name = sagemaker.send(f"job-{number}", script)
                    await sagemaker.end(name, "Failed" if number == 1 else "Completed")

                def names(**params: Any) -> list[str]:
                    listed = sagemaker("ListTrainingJobs", **params)["TrainingJobSummaries"]
                    return [one["TrainingJobName"] for one in listed]

                assert names() == ["job-2", "job-1", "job-0"]
                assert names(SortOrder="Ascending") == ["job-0", "job-1", "job-2"]
                assert names(SortBy="Status") == ["job-1", "job-2", "job-0"]
                assert names(StatusEquals="Completed") == ["job-2", "job-0"]
                assert names(NameContains="B-1") == ["job-1"]
                middle = sagemaker("DescribeTrainingJob", TrainingJobName="job-1")["CreationTime"]
                assert names(CreationTimeAfter=middle) == ["job-2"]
                assert names(CreationTimeBefore=middle) == ["job-0"]
                assert names(LastModifiedTimeAfter=middle) == ["job-2", "job-1"]
                page = sagemaker("ListTrainingJobs", MaxResults=2)
                assert names(MaxResults=2, NextToken=page["NextToken"]) == ["job-0"]
                words = "Invalid pagination token"
                refused(sagemaker, "ListTrainingJobs", INVALID, words, NextToken="?")
                warm = {"WarmPoolStatusEquals": "InUse"}
                refused(sagemaker, "ListTrainingJobs", MISSING, "WarmPoolStatusEquals", **warm)

        go(story())

    @given(st.integers(0, 30), st.integers(1, 12))
    def test_the_pages_together_are_all(self, count: int, size: int) -> None:
        items = [{"n": number} for number in range(100)]
        listed: list[Json] = []
        token: Json = {}
        while True:
            page = listing.page(items, {"MaxResults": size} | token, "Items")
            assert len(page["Items"]) <= size
            listed += page["Items"]
            if "NextToken" not in page:
                break
            token = {"NextToken": page["NextToken"]}
        assert listed == items


class TestTags:
    def test_come_and_go(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                one, two = {"Key": "team", "Value": "a"}, {"Key": "stage", "Value": "test"}
                await sagemaker.run("pass", Tags=[one])
                job = {"ResourceArn": arn("training-job/a-job")}
                assert sagemaker("ListTags", **job) == {"Tags": [one]}
                changed = one | {"Value": "b"}
                assert sagemaker("AddTags", **job, Tags=[changed, two]) == {"Tags": [changed, two]}
                sagemaker("DeleteTags", **job, TagKeys=["team", "absent"])
                assert sagemaker("ListTags", **job) == {"Tags": [two]}
                assert "Tags" not in sagemaker("DescribeTrainingJob", TrainingJobName="a-job")
                many = [{"Key": str(number), "Value": ""} for number in range(50)]
                refused(sagemaker, "AddTags", INVALID, "50 tags at most", **job, Tags=many)

        go(story())


class TestNotebookInstances:
    def test_live_as_records(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                name = {"NotebookInstanceName": "Our-Notebook"}
                role = {"RoleArn": request()["RoleArn"]}
                kind = {"InstanceType": "ml.t3.medium"}
                sagemaker("CreateNotebookInstance", **name, **role, **kind)
                notebook = sagemaker("DescribeNotebookInstance", **name)
                assert notebook["NotebookInstanceStatus"] == "InService"
                assert notebook["InstanceType"] == "ml.t3.medium"
                words = "Status (InService) not in ([Stopped, Failed]). Unable to transition to"
                refused(sagemaker, "DeleteNotebookInstance", INVALID, words, **name)
                sagemaker("StopNotebookInstance", **name)
                sagemaker("UpdateNotebookInstance", **name, InstanceType="ml.t3.large")
                sagemaker("StartNotebookInstance", **name)
                (listed,) = sagemaker("ListNotebookInstances")["NotebookInstances"]
                assert listed["InstanceType"] == "ml.t3.large"
                assert listed["NotebookInstanceStatus"] == "InService"
                sagemaker("StopNotebookInstance", **name)
                sagemaker("DeleteNotebookInstance", **name)
                words = "RecordNotFound"
                refused(sagemaker, "DescribeNotebookInstance", INVALID, words, **name)

        go(story())

    def test_a_name_is_used_once(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                params = {
                    "NotebookInstanceName": "ours",
                    "RoleArn": request()["RoleArn"],
                    "InstanceType": "ml.t3.medium",
                }
                sagemaker("CreateNotebookInstance", **params)
                words = "Cannot create a duplicate Notebook Instance"
                refused(sagemaker, "CreateNotebookInstance", INVALID, words, **params)

        go(story())


class TestGpus:
    @pytest.mark.parametrize(
        ("kind", "count"),
        [
            ("ml.m5.xlarge", 0),
            ("ml.g4dn.xlarge", 1),
            ("ml.g4dn.12xlarge", 4),
            ("ml.p3.2xlarge", 1),
            ("ml.p4d.24xlarge", 8),
            ("ml.trn1.2xlarge", 0),
        ],
    )
    def test_of_an_instance(self, kind: str, count: int) -> None:
        assert gpus_of(kind) == count

    def test_those_with_a_price_have_as_many_as_their_names_promise(self) -> None:
        for kind in prices.amazon.TRAINING:
            assert (gpus_of(kind) > 0) == kind.startswith(("ml.g", "ml.p")), kind

    def test_all_or_none_are_taken(self) -> None:
        asked = resources(InstanceType="ml.g5.12xlarge", InstanceCount=2)
        assert device(asked, 8).gpus == 8
        assert device(asked, 7).gpus == 0
        assert "2 x ml.g5.12xlarge has 8 GPUs, this machine has 7" in device(asked, 7).missing


def test_each_instance_sees_its_own_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: (0, 1, 2))  # this machine may have none

    async def story() -> None:
        async with running(tmp_path) as sagemaker:
            script = "import os; print('sees', os.environ['CUDA_VISIBLE_DEVICES'], '.')"
            two = resources(InstanceType="ml.g5.xlarge", InstanceCount=2)
            await sagemaker.run(script, ResourceConfig=two)
            logs = [sagemaker.log("a-job", host) for host in ("algo-1", "algo-2")]
            assert ["sees 0 ." in logs[0], "sees 1 ." in logs[1]] == [True, True], logs
            await sagemaker.run(script, name="without")
            assert "sees  ." in sagemaker.log("without")

    go(story())


@pytest.mark.slow
def test_a_hundred_jobs_in_the_queue_all_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with running(tmp_path, cores=8) as sagemaker:
            params = request()
            params["AlgorithmSpecification"] |= {"ContainerEntrypoint": ["true"]}
            names = [
                sagemaker.create(**params | {"TrainingJobName": f"job-{number}"})
                for number in range(100)
            ]
            await asyncio.gather(*(sagemaker.end(name) for name in names))

    go(story())
