"""Connecting: what must be known, and what is said when it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import AWS_helpers
from AWS_helpers import session
from AWS_helpers.session import Session, connect, connected, refusals
from lesson import LessonError
from lesson.request import Request
from lesson.runs import Run
from local_cloud.control import Status

RUN = Run("here", "a machine", 1.0, 0.8, 0.4, "runs/here")
CALLS: dict[str, Callable[[], Any]] = {
    "tune": lambda: AWS_helpers.tune({}, {}),
    "upload": lambda: AWS_helpers.upload("README.md"),
    "train": lambda: AWS_helpers.train({}),
    "wait": lambda: AWS_helpers.wait("job"),
    "cancel": lambda: AWS_helpers.cancel("job"),
    "list_jobs": lambda: AWS_helpers.list_jobs(),
    "cleanup": lambda: AWS_helpers.cleanup(),
    "deploy": lambda: AWS_helpers.deploy(RUN),
    "predict": lambda: AWS_helpers.predict("endpoint", []),
    "register": lambda: AWS_helpers.register(RUN),
    "write_job": lambda: AWS_helpers.write_job(Request()),
    "train_on_vm": lambda: AWS_helpers.train_on_vm({}),
    "write_manifest": lambda: AWS_helpers.write_manifest({}),
}
ROLE = "arn:aws:iam::123456789012:role/MyRole"


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_asks_for_connect_first(verb: str) -> None:
    with pytest.raises(LessonError, match=r"^not connected yet; call connect\(\) first$"):
        CALLS[verb]()


def test_the_package_names_exactly_the_verbs() -> None:
    assert sorted({*CALLS, "connect", "estimate_cost"}) == dir(AWS_helpers)
    with pytest.raises(AttributeError, match="no attribute 'explain'"):
        _ = AWS_helpers.explain  # type: ignore[attr-defined]


def test_both_sides_of_the_lesson_have_the_same_verbs() -> None:
    import GCP_helpers

    assert dir(AWS_helpers) == dir(GCP_helpers)


def test_the_role_and_the_bucket_are_found_and_told_in_words(
    cloud: Status, capsys: pytest.CaptureFixture[str]
) -> None:
    made = connect()
    assert made.role == "arn:aws:iam::000000000000:role/SageMakerExecutionRole"
    assert connected() is made
    said = capsys.readouterr().out
    assert said.endswith(
        "local: role SageMakerExecutionRole, region us-east-1, bucket s3://lesson; nothing leaves "
        "this machine, so links to Amazon's console lead nowhere\n"
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


@pytest.mark.parametrize("name", ["My Bucket", "Maria", "maria_lesson", "gs://lesson", "a", "a/b"])
def test_a_name_that_no_bucket_can_have_is_refused_with_the_rule(cloud: Status, name: str) -> None:
    rule = "3 to 63 small letters, digits and hyphens, such as maria-lesson"
    with pytest.raises(LessonError, match=f"^bucket {name}: .*{rule}$"):
        connect(name)


def test_a_region_that_is_none_is_refused_in_one_sentence(cloud: Status) -> None:
    with pytest.raises(LessonError, match=r"^there is no region europe; .* eu-central-1$"):
        connect(region="europe")


def test_a_bucket_whose_region_is_not_that_of_the_jobs_is_refused(cloud: Status) -> None:
    connect("stays-here")
    with pytest.raises(LessonError, match=r"lies in us-east-1, .*connect\(region='us-east-1'\)"):
        connect("stays-here", region="eu-central-1")


def test_a_change_of_target_asks_for_a_new_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_session", Session("local", ROLE, "us-east-1", "b"))
    assert connected().uri == "s3://b"
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(LessonError, match="connected to local, but LESSON_TARGET is now cloud"):
        connected()


def test_the_cloud_target_needs_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(LessonError, match=r"no bucket is known; choose a name that nobody else"):
        connect(role=ROLE)


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


def test_a_process_pointed_at_the_local_cloud_never_claims_to_be_in_the_real_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1/secret/aws")
    with pytest.raises(LessonError, match="still pointed at the local cloud"):
        connect(bucket="b", role=ROLE)
