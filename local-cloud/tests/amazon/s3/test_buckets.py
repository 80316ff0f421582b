"""Buckets, by the client's own calls."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.handlers import validate_bucket_name

from tests.amazon.s3.support import refused


def test_a_bucket_is_made_found_and_removed(s3: Any) -> None:
    s3.create_bucket(Bucket="of-two-1")
    s3.create_bucket(Bucket="of-two-2")
    assert {"of-two-1", "of-two-2"} <= {each["Name"] for each in s3.list_buckets()["Buckets"]}
    assert s3.head_bucket(Bucket="of-two-1")["BucketRegion"] == "us-east-1"
    assert s3.get_bucket_location(Bucket="of-two-1")["LocationConstraint"] is None
    s3.delete_bucket(Bucket="of-two-1")
    assert [each["Name"] for each in s3.list_buckets(Prefix="of-two")["Buckets"]] == ["of-two-2"]


def test_what_is_not_there_is_not_found(s3: Any) -> None:
    with refused("404", 404):
        s3.head_bucket(Bucket="none")
    for call in (s3.list_objects, s3.list_objects_v2, s3.delete_bucket, s3.get_bucket_location):
        with refused("NoSuchBucket", 404) as caught:
            call(Bucket="none")
        assert caught.value.response["Error"]["BucketName"] == "none"


@pytest.mark.parametrize(
    "name", ["ab", "a" * 64, "Upper", "under_score", "a..b", "-a-", "1.2.3.4", "a.-b", "xn--a"]
)
def test_a_name_that_breaks_the_rules_is_refused(s3: Any, name: str) -> None:
    s3.meta.events.unregister("before-parameter-build.s3", validate_bucket_name)
    with refused("InvalidBucketName", 400):
        s3.create_bucket(Bucket=name)


def test_in_the_first_region_ones_own_bucket_can_be_made_again(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    s3.create_bucket(Bucket=bucket)
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"x"


def test_in_another_region_it_cannot(s3: Any) -> None:
    there = boto3.client("s3", region_name="eu-west-1")
    where = {"LocationConstraint": "eu-west-1"}
    there.create_bucket(Bucket="far", CreateBucketConfiguration=where)
    assert there.get_bucket_location(Bucket="far")["LocationConstraint"] == "eu-west-1"
    assert s3.head_bucket(Bucket="far")["BucketRegion"] == "eu-west-1"
    with refused("BucketAlreadyOwnedByYou", 409):
        there.create_bucket(Bucket="far", CreateBucketConfiguration=where)


def test_a_region_makes_its_own_buckets_only(s3: Any) -> None:
    there = boto3.client("s3", region_name="eu-west-1")
    with refused("IllegalLocationConstraintException", 400):
        there.create_bucket(Bucket="far")
    with refused("IllegalLocationConstraintException", 400):
        there.create_bucket(
            Bucket="far", CreateBucketConfiguration={"LocationConstraint": "eu-west-2"}
        )
    with refused("InvalidLocationConstraint", 400):
        s3.create_bucket(
            Bucket="near", CreateBucketConfiguration={"LocationConstraint": "us-east-1"}
        )


def test_a_bucket_with_objects_stays(s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"")
    with refused("BucketNotEmpty", 409):
        s3.delete_bucket(Bucket=bucket)


def test_buckets_come_in_pages(s3: Any) -> None:
    names = [f"paged-{number}" for number in range(5)]
    for name in names:
        s3.create_bucket(Bucket=name)
    pages = s3.get_paginator("list_buckets").paginate(
        Prefix="paged-", PaginationConfig={"PageSize": 2}
    )
    names_on_pages = [[each["Name"] for each in page["Buckets"]] for page in pages]
    assert names_on_pages == [names[:2], names[2:4], names[4:]]
    assert len(s3.list_buckets(Prefix="paged-4")["Buckets"]) == 1


def test_a_bucket_has_tags(s3: Any, bucket: str) -> None:
    with refused("NoSuchTagSet", 404):
        s3.get_bucket_tagging(Bucket=bucket)
    tags = [{"Key": "made by", "Value": "é"}, {"Key": "b", "Value": ""}]
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})
    assert s3.get_bucket_tagging(Bucket=bucket)["TagSet"] == tags
    s3.delete_bucket_tagging(Bucket=bucket)
    with refused("NoSuchTagSet", 404):
        s3.get_bucket_tagging(Bucket=bucket)


@pytest.mark.parametrize(
    "tags",
    [
        [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}],
        [{"Key": "aws:a", "Value": ""}],
        [{"Key": "a?", "Value": ""}],
        [{"Key": "a", "Value": "x" * 257}],
    ],
)
def test_a_tag_that_breaks_the_rules_is_refused(s3: Any, bucket: str, tags: Any) -> None:
    with refused("InvalidTag", 400):
        s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": tags})


def test_versions_are_off_and_cannot_be_had(s3: Any, bucket: str) -> None:
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    with refused("NotImplemented", 501) as caught:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    assert "PutBucketVersioning" in str(caught.value)


def test_what_is_missing_is_said_by_name(s3: Any, bucket: str) -> None:
    with refused("NotImplemented", 501) as caught:
        s3.get_bucket_policy(Bucket=bucket)
    assert "not implemented in the local cloud: S3 GetBucketPolicy" in str(caught.value)
    with refused("NotImplemented", 501) as caught:
        s3.put_object(Bucket=bucket, Key="k", Body=b"", ACL="public-read")
    assert "S3 PutObject ACL=public-read" in str(caught.value)
    with refused("NotImplemented", 501) as caught:
        s3.put_object(Bucket=bucket, Key="k", Body=b"", ServerSideEncryption="aws:kms:dsse")
    assert "ServerSideEncryption=aws:kms:dsse" in str(caught.value)


@pytest.mark.parametrize("how", ["AES256", "aws:kms"])
def test_encryption_is_taken_note_of(s3: Any, bucket: str, how: str) -> None:
    """Version 2 of the SageMaker SDK asks for the latter with each upload of a script."""
    s3.put_object(Bucket=bucket, Key="k", Body=b"", ServerSideEncryption=how)
    assert s3.head_object(Bucket=bucket, Key="k")["ServerSideEncryption"] == how


def test_who_expects_another_owner_is_refused(s3: Any, bucket: str) -> None:
    s3.list_objects_v2(Bucket=bucket, ExpectedBucketOwner="000000000000")
    with refused("AccessDenied", 403):
        s3.list_objects_v2(Bucket=bucket, ExpectedBucketOwner="111111111111")
