"""The model registry, driven by boto3 and by version 3 of the SDK."""

from __future__ import annotations

import itertools
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from local_cloud.client.control import Status
from tests.amazon.sagemaker.support import ROLE

BUCKET = "registered-models"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-inference:2.8-cpu-py312"
DATA = f"s3://{BUCKET}/a-job/output/model.tar.gz"
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def sdk(cloud: Status) -> SimpleNamespace:
    """The client, the SDK's resources, and a bucket with the data of a model."""
    with warnings.catch_warnings(action="ignore"):  # the SDK warns of its own modules
        import boto3
        from botocore.exceptions import ClientError
        from sagemaker.core import resources, shapes
        from sagemaker.serve import ModelBuilder

    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="a-job/output/model.tar.gz", Body=b"weights")
    return SimpleNamespace(
        client=boto3.client("sagemaker"),
        ClientError=ClientError,
        resources=resources,
        shapes=shapes,
        ModelBuilder=ModelBuilder,
    )


@pytest.fixture
def group(sdk: SimpleNamespace) -> str:
    """A new group."""
    name = f"registry-test-{next(NUMBERS):03}"  # part of no other name
    sdk.client.create_model_package_group(ModelPackageGroupName=name)
    return name


def specification(data: str = DATA, **container: Any) -> dict[str, Any]:
    """What serves the model, and where its data is."""
    return {
        "Containers": [{"Image": IMAGE, "ModelDataUrl": data} | container],
        "SupportedContentTypes": ["text/csv"],
        "SupportedResponseMIMETypes": ["text/csv"],
    }


def register(sdk: SimpleNamespace, group: str, **more: Any) -> str:
    """A new version in the group; its ARN."""
    request = {"ModelPackageGroupName": group, "InferenceSpecification": specification()} | more
    arn: str = sdk.client.create_model_package(**request)["ModelPackageArn"]
    return arn


def test_versions_are_numbered_and_wait_for_approval(sdk: SimpleNamespace, group: str) -> None:
    metrics = {
        "ModelQuality": {
            "Statistics": {"ContentType": "application/json", "S3Uri": f"s3://{BUCKET}/m.json"}
        }
    }
    first = register(sdk, group, ModelMetrics=metrics, CustomerMetadataProperties={"run": "one"})
    second = register(sdk, group, ModelApprovalStatus="Approved")
    assert [arn.rpartition(":")[2] for arn in (first, second)] == [
        f"model-package/{group}/1",
        f"model-package/{group}/2",
    ]
    package = sdk.client.describe_model_package(ModelPackageName=first)
    assert (package["ModelPackageGroupName"], package["ModelPackageVersion"]) == (group, 1)
    assert package["ModelApprovalStatus"] == "PendingManualApproval"
    assert package["InferenceSpecification"] == specification()
    assert package["ModelMetrics"] == metrics
    assert package["ModelPackageStatus"] == "Completed"
    assert "ModelPackageName" not in package  # as from the service: a version has none
    sdk.client.delete_model_package(ModelPackageName=second)
    assert register(sdk, group).endswith("/3")  # a number is not given twice


def test_approval_and_metadata_change(sdk: SimpleNamespace, group: str) -> None:
    arn = register(sdk, group, CustomerMetadataProperties={"run": "one", "rows": "714"})
    sdk.client.update_model_package(
        ModelPackageArn=arn,
        ModelApprovalStatus="Approved",
        ApprovalDescription="0.83 on rows it never saw",
        CustomerMetadataProperties={"run": "two"},
        CustomerMetadataPropertiesToRemove=["rows"],
        AdditionalInferenceSpecificationsToAdd=[
            {"Name": "on-a-gpu", "Containers": [{"Image": f"{IMAGE}-gpu", "ModelDataUrl": DATA}]}
        ],
    )
    package = sdk.client.describe_model_package(ModelPackageName=f"{group}/1")
    assert package["ModelApprovalStatus"] == "Approved"
    assert package["ApprovalDescription"] == "0.83 on rows it never saw"
    assert package["CustomerMetadataProperties"] == {"run": "two"}
    (more,) = package["AdditionalInferenceSpecifications"]
    assert more["Name"] == "on-a-gpu"
    assert package["LastModifiedTime"] > package["CreationTime"]
    sdk.client.update_model_package(
        ModelPackageArn=arn, CustomerMetadataPropertiesToRemove=["run", "never there"]
    )
    package = sdk.client.describe_model_package(ModelPackageName=arn)
    assert "CustomerMetadataProperties" not in package
    assert package["ModelApprovalStatus"] == "Approved"


def test_a_list_is_of_a_group_or_of_what_has_none(sdk: SimpleNamespace, group: str) -> None:
    def listed(**params: Any) -> list[str]:
        pages = sdk.client.get_paginator("list_model_packages").paginate(**params)
        packages = [one for page in pages for one in page["ModelPackageSummaryList"]]
        return [one["ModelPackageArn"].partition("model-package/")[2] for one in packages]

    alone = f"{group}-alone"
    sdk.client.create_model_package(ModelPackageName=alone, InferenceSpecification=specification())
    statuses = ("Approved", "Rejected", "Approved")
    for status in statuses:
        register(sdk, group, ModelApprovalStatus=status)
    versions = [f"{group}/{number}" for number in (1, 2, 3)]
    assert listed(ModelPackageGroupName=group) == versions
    assert listed(ModelPackageGroupName=group, SortOrder="Descending") == versions[::-1]
    assert listed(ModelPackageGroupName=group, ModelApprovalStatus="Approved") == versions[::2]
    assert listed(ModelPackageGroupName=group, PaginationConfig={"PageSize": 2}) == versions
    assert listed(NameContains=group) == [alone]
    assert listed(NameContains=group, ModelPackageType="Versioned") == versions
    both = listed(NameContains=group, ModelPackageType="Both", SortBy="Name")
    assert both == [*versions, alone]


def test_a_group_is_found_and_goes_when_it_is_empty(sdk: SimpleNamespace, group: str) -> None:
    register(sdk, group)
    (model_package_groups,) = sdk.client.list_model_package_groups(NameContains=group)[
        "ModelPackageGroupSummaryList"
    ]
    assert model_package_groups["ModelPackageGroupStatus"] == "Completed"
    with pytest.raises(sdk.client.exceptions.ConflictException, match="delete those first"):
        sdk.client.delete_model_package_group(ModelPackageGroupName=group)
    sdk.client.delete_model_package(ModelPackageName=f"{group}/1")
    sdk.client.delete_model_package_group(ModelPackageGroupName=group)
    with pytest.raises(sdk.ClientError, match="does not exist"):
        sdk.client.describe_model_package_group(ModelPackageGroupName=group)
    with pytest.raises(sdk.ClientError, match="does not exist"):
        register(sdk, group)


def test_a_group_has_tags_and_lends_them_to_its_versions(sdk: SimpleNamespace) -> None:
    tags = [{"Key": "lesson", "Value": "titanic"}]
    made = sdk.client.create_model_package_group(ModelPackageGroupName="tagged", Tags=tags)
    arn = made["ModelPackageGroupArn"]
    assert sdk.client.list_tags(ResourceArn=arn)["Tags"] == tags
    with pytest.raises(sdk.ClientError, match="a version has its group's tags"):
        register(sdk, "tagged", Tags=tags)
    with pytest.raises(sdk.ClientError, match="already exists"):
        sdk.client.create_model_package_group(ModelPackageGroupName="tagged")


def test_a_request_whose_answer_was_lost_makes_no_second_version(
    sdk: SimpleNamespace, group: str
) -> None:
    first = register(sdk, group, ClientToken="a-token")
    assert register(sdk, group, ClientToken="a-token") == first
    assert register(sdk, group) == first.replace("/1", "/2")


@pytest.mark.parametrize(
    ("changes", "code", "sentence"),
    [
        (
            {"InferenceSpecification": specification(f"s3://{BUCKET}/a-job/output/model")},
            "ValidationException",
            f"Could not find model data at s3://{BUCKET}/a-job/output/model",
        ),
        (
            {"InferenceSpecification": specification("s3://no-such-bucket/model.tar.gz")},
            "ValidationException",
            "Could not find model data at s3://no-such-bucket/model.tar.gz",
        ),
        (
            {"InferenceSpecification": specification(Image="with blanks")},
            "ValidationException",
            "at 'inferenceSpecification.containers.1.member.image'",
        ),
        ({"ModelPackageName": "a-name"}, "ValidationException", "either ModelPackageName or"),
        (
            {"ValidationSpecification": {"ValidationRole": ROLE, "ValidationProfiles": []}},
            "NotImplemented",
            "ValidationSpecification",
        ),
        ({"CertifyForMarketplace": True}, "NotImplemented", "CertifyForMarketplace"),
        (
            {"SourceAlgorithmSpecification": {"SourceAlgorithms": [{"AlgorithmName": "xgboost"}]}},
            "NotImplemented",
            "SourceAlgorithmSpecification",
        ),
    ],
)
def test_a_request_is_checked(
    sdk: SimpleNamespace, group: str, changes: dict[str, Any], code: str, sentence: str
) -> None:
    with pytest.raises(sdk.ClientError) as refused:
        register(sdk, group, **changes)
    assert refused.value.response["Error"]["Code"] == code
    assert sentence in refused.value.response["Error"]["Message"]
    assert not sdk.client.list_model_packages(ModelPackageGroupName=group)[
        "ModelPackageSummaryList"
    ]


def test_data_may_be_a_folder_or_come_later(sdk: SimpleNamespace, group: str) -> None:
    folder = {
        "S3DataSource": {
            "S3Uri": f"s3://{BUCKET}/a-job/",
            "S3DataType": "S3Prefix",
            "CompressionType": "None",
        }
    }
    spec = {"Containers": [{"Image": IMAGE, "ModelDataSource": folder}]}
    assert register(sdk, group, InferenceSpecification=spec).endswith("/1")
    later = specification(f"s3://{BUCKET}/later.tar.gz")
    arn = register(sdk, group, InferenceSpecification=later, SkipModelValidation="All")
    assert arn.endswith("/2")


# The SDK's builder warns of an argument that it gives itself.
@pytest.mark.filterwarnings("ignore:The 'dependencies' parameter:DeprecationWarning")
class TestVersion3:
    def test_a_model_is_registered_found_and_approved(
        self, sdk: SimpleNamespace, group: str
    ) -> None:
        builder = sdk.ModelBuilder(image_uri=IMAGE, s3_model_data_url=DATA, role_arn=ROLE)
        arn = builder.register(
            model_package_group_name=group,
            content_types=["text/csv"],
            response_types=["text/csv"],
            description="12 trials",
        )
        package = sdk.resources.ModelPackage.get(arn)
        assert package.model_package_description == "12 trials"
        assert package.inference_specification.containers[0].model_data_url == DATA
        package.update(model_approval_status="Approved", approval_description="by a test")
        assert package.model_approval_status == "Approved"  # it looks again by itself
        listed = sdk.resources.ModelPackage.get_all(model_package_group_name=group)
        assert [(one.model_package_version, one.model_approval_status) for one in listed] == [
            (1, "Approved")
        ]

    def test_a_group_that_is_not_there_is_made(self, sdk: SimpleNamespace) -> None:
        builder = sdk.ModelBuilder(image_uri=IMAGE, s3_model_data_url=DATA, role_arn=ROLE)
        for version in ("1", "2"):
            arn = builder.register(
                model_package_group_name="made-by-the-sdk",
                content_types=["text/csv"],
                response_types=["text/csv"],
            )
            assert arn.endswith(f"made-by-the-sdk/{version}")

    def test_groups_are_resources(self, sdk: SimpleNamespace) -> None:
        group = sdk.resources.ModelPackageGroup.create(
            model_package_group_name="a-resource", model_package_group_description="Titanic"
        )
        assert group.model_package_group_description == "Titanic"
        assert "a-resource" in [
            one.model_package_group_name for one in sdk.resources.ModelPackageGroup.get_all()
        ]
        group.delete()

    def test_a_package_of_no_group_is_deleted_by_its_name(self, sdk: SimpleNamespace) -> None:
        sdk.client.create_model_package(
            ModelPackageName="alone", InferenceSpecification=specification()
        )
        package = sdk.resources.ModelPackage.get("alone")
        package.delete()
        with pytest.raises(sdk.ClientError, match="does not exist"):
            package.refresh()


@pytest.mark.parametrize(
    "host",
    [
        f"{BUCKET}.s3.amazonaws.com",
        f"{BUCKET}.s3.us-east-1.amazonaws.com",
        f"s3.amazonaws.com/{BUCKET}",
        f"s3-us-west-2.amazonaws.com/{BUCKET}",
    ],
)
def test_model_data_may_be_named_by_the_url_of_its_object(sdk: SimpleNamespace, host: str) -> None:
    name, url = f"by-url-{next(NUMBERS):03}", f"https://{host}/a-job/output/model.tar.gz"
    container = {"Image": IMAGE, "ModelDataUrl": url}
    sdk.client.create_model(ModelName=name, PrimaryContainer=container, ExecutionRoleArn=ROLE)
    model = sdk.client.describe_model(ModelName=name)
    assert model["PrimaryContainer"]["ModelDataUrl"] == url


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://example.org/model.tar.gz", "is not the URL of an object in S3"),
        (f"https://{BUCKET}.s3.amazonaws.com/nothing", "Could not find model data"),
    ],
)
def test_a_url_of_anything_else_is_refused(sdk: SimpleNamespace, url: str, words: str) -> None:
    container = {"Image": IMAGE, "ModelDataUrl": url}
    with pytest.raises(sdk.ClientError, match=words):
        sdk.client.create_model(ModelName="nowhere", PrimaryContainer=container)
