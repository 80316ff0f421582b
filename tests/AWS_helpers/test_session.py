"""Connecting: what must be known, and what is said when it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from AWS_helpers import session
from AWS_helpers.session import connect, current_session, refusals
from lesson import LessonError
from local_cloud import Status

ROLE = "arn:aws:iam::123456789012:role/MyRole"


def test_the_role_and_the_bucket_are_found_and_told_in_words(
    cloud: Status, capsys: pytest.CaptureFixture[str]
) -> None:
    made = connect()
    assert made.role == "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
    assert current_session() is made
    said = capsys.readouterr().out
    assert said.endswith(
        "local: role SageMakerExecutionRole, region us-east-1, bucket s3://lesson; nothing leaves "
        "this machine, so links to Amazon's console lead to the local cloud's\n"
    )


def test_a_bucket_is_made_once_and_marked_as_the_lessons(
    cloud: Status, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ("made the bucket s3://made-once", "local: role"):
        connect("s3://made-once/")
        assert capsys.readouterr().out.startswith(words)
    answer = session.client("s3").get_bucket_tagging(Bucket="made-once")
    assert answer["TagSet"] == [{"Key": "made_by_lesson", "Value": "true"}]


def test_a_bucket_in_another_region_lies_there(cloud: Status) -> None:
    connect("far-away", region="eu-central-1")
    answer = session.client("s3").get_bucket_location(Bucket="far-away")
    assert answer["LocationConstraint"] == "eu-central-1"


def test_names_are_taken_from_the_environment(
    cloud: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSON_ROLE", ROLE)
    monkeypatch.setenv("LESSON_BUCKET", "named-there")
    made = connect()
    assert (made.role, made.uri) == (ROLE, "s3://named-there")


def test_a_bucket_whose_region_is_not_that_of_the_jobs_is_refused(cloud: Status) -> None:
    connect("stays-here")
    with pytest.raises(LessonError, match=r"lies in us-east-1, .*connect\(region='us-east-1'\)"):
        connect("stays-here", region="eu-central-1")


def test_a_users_credentials_are_no_role(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_a_user(_: Any) -> str:
        raise ValueError("The current AWS identity is not a role: arn:aws:iam::1:user/me")

    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setattr("sagemaker.core.helper.session_helper.get_execution_role", of_a_user)
    with pytest.raises(LessonError, match=r"no role is known .*connect\(role=\.\.\.\)"):
        connect(bucket="some-bucket")


def test_missing_credentials_are_said_to_be_missing() -> None:
    from botocore.exceptions import NoCredentialsError

    with pytest.raises(LessonError, match=r"^asking: your credentials .*aws configure"):  # noqa: SIM117
        with refusals("asking"):
            raise NoCredentialsError


def test_a_refusal_that_lists_hundreds_of_names_is_cut() -> None:
    from botocore.exceptions import ClientError

    said = "must satisfy enum value set: [" + ", ".join(f"ml.m{n}.large" for n in range(500)) + "]"
    refusal = ClientError({"Error": {"Code": "ValidationException", "Message": said}}, "Create")
    with pytest.raises(LessonError, match=r"ml\.m0\.large, .* \.\.\.$") as cut:  # noqa: SIM117
        with refusals("sending the job"):
            raise refusal
    assert len(str(cut.value)) < 600


def test_a_bucket_of_somebody_else_is_said_to_be_theirs() -> None:
    from botocore.exceptions import ClientError

    class Theirs:
        def head_bucket(self, Bucket: str) -> None:
            raise ClientError({"Error": {"Code": "403", "Message": "Forbidden"}}, "HeadBucket")

    with pytest.raises(LessonError, match=r"^bucket data belongs to somebody else.*another name$"):
        session.region_of(Theirs(), "data")


def test_in_studio_the_role_is_that_of_the_domain_under_cloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK finds it in the file that marks Studio, and asks no service."""
    from sagemaker.core.helper import session_helper

    role = "arn:aws:iam::123456789012:role/Domain"
    metadata = tmp_path / "resource-metadata.json"
    metadata.write_text(json.dumps({"ResourceName": "default", "ExecutionRoleArn": role}))
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.delenv("LESSON_ROLE", raising=False)
    monkeypatch.setattr(session_helper, "NOTEBOOK_METADATA_FILE", str(metadata))
    assert session._role(None, "us-east-1") == role
