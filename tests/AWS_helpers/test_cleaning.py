"""What has the lesson's tag on SageMaker: cleanup() deletes it, and nothing else."""

from __future__ import annotations

import pytest
from botocore.stub import Stubber

from AWS_helpers import cleanup
from AWS_helpers.session import Session, client
from lesson import LessonError

Printed = pytest.CaptureFixture[str]


def names(bucket: str) -> list[str]:
    objects = client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])
    return [each["Key"] for each in objects]


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


def test_a_bucket_whose_tags_may_not_be_read_is_not_taken_for_a_missing_one(
    connection: Session,
) -> None:
    with Stubber(client("s3")) as stub, pytest.raises(LessonError, match="Access Denied"):
        stub.add_client_error("get_bucket_tagging", "AccessDenied", "Access Denied", 403)
        cleanup(dry_run=False)
