"""cleanup() deletes what the lesson made, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from AWS_helpers import cancel, cleanup, connect, list_jobs, train, upload, wait
from AWS_helpers.session import Session, client
from lesson import LessonError
from lesson.preparation import Prepared

Data = dict[str, Any]
Printed = pytest.CaptureFixture[str]


def names(bucket: str) -> list[str]:
    found = client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])
    return [each["Key"] for each in found]


def buckets() -> set[str]:
    return {each["Name"] for each in client("s3").list_buckets()["Buckets"]}


@pytest.mark.usefixtures("quick")
def test_a_bucket_that_connect_made_goes_with_all_that_is_in_it(
    data: Data, tmp_path: Path, capsys: Printed
) -> None:
    connection = connect(bucket="made-by-connect")
    run = train(data | {"epochs": 3})
    (tmp_path / "large").write_bytes(bytes(3 << 20))
    upload(tmp_path / "large")
    capsys.readouterr()
    cleanup()
    would = capsys.readouterr().out
    assert re.search(rf"\d objects in {connection.uri}/.*, 3\.\d MiB", would)
    assert f"would delete job {run.job.training_job_name} (succeeded)\n" in would
    assert would.endswith("cleanup(dry_run=False) deletes all of the above\n")
    assert len(names(connection.bucket)) > 2
    cleanup(dry_run=False)
    assert connection.bucket not in buckets()
    assert run.job.training_job_name not in set(list_jobs()["name"])
    capsys.readouterr()
    cleanup(dry_run=False)
    assert capsys.readouterr().out == "nothing is left of the lesson here\n"


def test_in_a_bucket_of_ones_own_only_what_the_jobs_wrote_is_deleted(
    connection: Session, archives: Prepared, tmp_path: Path, capsys: Printed
) -> None:
    client("s3").create_bucket(Bucket="my-own")
    connect(bucket="my-own")
    mine = tmp_path / "thesis.txt"
    mine.write_text("two years of work")
    train_npz, val_npz = upload(archives.train, archives.val)
    upload(mine, prefix="runs")
    run = train({"train": train_npz, "val": val_npz, "epochs": 3}, spot=True)
    address = run.request["ModelTrainer"]["checkpoint_config"].s3_uri
    kept = f"{address.removeprefix('s3://my-own/')}/worker-0/step-1.pt"
    client("s3").put_object(Bucket="my-own", Key=kept, Body=b"of a job that was stopped")
    assert len(names("my-own")) > 5
    cleanup(dry_run=False)
    assert names("my-own") == ["runs/thesis.txt", "train_data.npz", "val_data.npz"]
    assert "s3://my-own was there before connect(): it stays" in capsys.readouterr().out
    assert run.job.training_job_name not in set(list_jobs()["name"])


@pytest.mark.usefixtures("quick")
def test_a_job_that_train_did_not_send_stays_in_a_bucket_of_ones_own(
    connection: Session, archives: Prepared
) -> None:
    client("s3").create_bucket(Bucket="shared")
    connect(bucket="shared")
    train_npz, val_npz = upload(archives.train, archives.val)
    run = train({"train": train_npz, "val": val_npz, "epochs": 3})
    client("sagemaker").delete_tags(
        ResourceArn=run.job.training_job_arn, TagKeys=["made_by_lesson"]
    )
    before = names("shared")
    cleanup(dry_run=False)
    assert names("shared") == before
    assert run.job.training_job_name in set(list_jobs()["name"])


@pytest.mark.usefixtures("quick")
def test_the_jobs_of_others_in_the_account_stay_and_are_not_waited_for(
    connection: Session, archives: Prepared
) -> None:
    client("s3").create_bucket(Bucket="lesson-of-others")
    connect(bucket="lesson-of-others")
    names_of = dict(zip(("train", "val"), upload(archives.train, archives.val), strict=True))
    a_lesson = train(names_of | {"epochs": 1})  # of somebody else, in the same account
    connect()  # our own bucket, which goes with every job that wrote into it
    data = dict(zip(("train", "val"), upload(archives.train, archives.val), strict=True))
    ours = train(data | {"epochs": 1})
    connect(bucket="lesson-of-others")
    no_lesson = train(names_of | {"sleep": 10_000}, wait=False)
    client("sagemaker").delete_tags(
        ResourceArn=no_lesson.job.training_job_arn, TagKeys=["made_by_lesson"]
    )
    theirs = {run.job.training_job_name for run in (a_lesson, no_lesson)}
    connect()
    cleanup(dry_run=False)
    assert connection.bucket not in buckets()
    left = set(list_jobs()["name"])
    assert theirs <= left and ours.job.training_job_name not in left
    assert f"runs/{a_lesson.job.training_job_name}/output/model.tar.gz" in names("lesson-of-others")
    cancel(no_lesson)
    wait(no_lesson)


@pytest.mark.usefixtures("quick")
def test_nothing_is_deleted_while_a_job_runs(data: Data, connection: Session) -> None:
    sent = train(data | {"sleep": 10_000}, wait=False)
    name = sent.job.training_job_name
    with pytest.raises(LessonError, match=rf"^{name}: not ended yet; cancel\("):
        cleanup(dry_run=False)
    assert names(connection.bucket)
    cancel(sent)
    wait(sent)
    cleanup(dry_run=False)
    assert connection.bucket not in buckets()


def test_models_and_their_configurations_with_the_lessons_tag_go_and_no_others(
    connection: Session, capsys: Printed
) -> None:
    sagemaker = client("sagemaker")
    ours = [{"Key": key, "Value": value} for key, value in connection.tags.items()]
    for name, tags in (("our-model", ours), ("thesis-model", [])):
        sagemaker.create_model(
            ModelName=name,
            PrimaryContainer={"Image": "an/image:1"},
            ExecutionRoleArn=connection.role,
            Tags=tags,
        )
        variant = {"VariantName": "a", "ModelName": name, "InstanceType": "ml.m5.large"}
        sagemaker.create_endpoint_config(
            EndpointConfigName=name,
            ProductionVariants=[variant | {"InitialInstanceCount": 1}],
            Tags=tags,
        )
    capsys.readouterr()
    cleanup(dry_run=False)
    said = capsys.readouterr().out
    assert "deleting model our-model\n" in said  # what it costs is said of an endpoint alone
    assert "deleting endpoint configuration our-model\n" in said
    models = {each["ModelName"] for each in sagemaker.list_models()["Models"]}
    assert "thesis-model" in models and "our-model" not in models
    listed = sagemaker.list_endpoint_configs()["EndpointConfigs"]
    configs = {each["EndpointConfigName"] for each in listed}
    assert "thesis-model" in configs and "our-model" not in configs


def test_model_package_groups_with_the_lessons_tag_go_and_no_others(
    connection: Session, capsys: Printed
) -> None:
    sagemaker = client("sagemaker")
    tags = [{"Key": key, "Value": value} for key, value in connection.tags.items()]
    sagemaker.create_model_package_group(ModelPackageGroupName="ours", Tags=tags)
    sagemaker.create_model_package_group(ModelPackageGroupName="thesis")
    for name in ("ours", "ours", "thesis"):
        sagemaker.create_model_package(
            ModelPackageGroupName=name,
            InferenceSpecification={"Containers": [{"Image": "an/image:1"}]},
        )
    capsys.readouterr()
    cleanup(dry_run=False)
    assert "deleting model package group ours\n" in capsys.readouterr().out
    pages = sagemaker.get_paginator("list_model_package_groups").paginate()
    groups = (group for page in pages for group in page["ModelPackageGroupSummaryList"])
    left = {group["ModelPackageGroupName"] for group in groups}
    assert "thesis" in left and "ours" not in left
