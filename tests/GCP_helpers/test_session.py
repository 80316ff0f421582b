"""Connecting: what must be known, and what is said when it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import GCP_helpers
from GCP_helpers import session
from GCP_helpers.session import Session, connect, connected
from lesson import LessonError
from lesson.request import Request
from lesson.runs import Run
from local_cloud.control import Status

RUN = Run("here", "a machine", 1.0, 0.8, 0.4, "runs/here")
CALLS: dict[str, Callable[[], Any]] = {
    "tune": lambda: GCP_helpers.tune({}, {}),
    "upload": lambda: GCP_helpers.upload("README.md"),
    "train": lambda: GCP_helpers.train({}),
    "wait": lambda: GCP_helpers.wait("job"),
    "cancel": lambda: GCP_helpers.cancel("job"),
    "list_jobs": lambda: GCP_helpers.list_jobs(),
    "cleanup": lambda: GCP_helpers.cleanup(),
    "deploy": lambda: GCP_helpers.deploy(RUN),
    "predict": lambda: GCP_helpers.predict("endpoint", []),
    "register": lambda: GCP_helpers.register(RUN),
    "write_job": lambda: GCP_helpers.write_job(Request()),
    "train_on_vm": lambda: GCP_helpers.train_on_vm({}),
    "write_manifest": lambda: GCP_helpers.write_manifest({}),
}


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_asks_for_connect_first(verb: str) -> None:
    with pytest.raises(LessonError, match=r"^not connected yet; call connect\(\) first$"):
        CALLS[verb]()


def test_the_package_names_exactly_the_verbs() -> None:
    assert sorted({*CALLS, "connect", "estimate_cost"}) == dir(GCP_helpers)
    with pytest.raises(AttributeError, match="no attribute 'explain'"):
        _ = GCP_helpers.explain  # type: ignore[attr-defined]


def test_a_change_of_target_asks_for_a_new_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_session", Session("local", "p", "us-central1", "b"))
    assert connected().uri == "gs://b"
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(LessonError, match="connected to local, but LESSON_TARGET is now cloud"):
        connected()


def test_the_cloud_target_needs_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(LessonError, match=r"no bucket is known; choose a name that nobody else"):
        connect(project="p")


def test_the_cloud_target_needs_a_project_or_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from google.auth.exceptions import DefaultCredentialsError

    def nothing(*_: Any, **__: Any) -> None:
        raise DefaultCredentialsError("none")

    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setattr("google.auth.default", nothing)
    with pytest.raises(LessonError, match="gcloud auth application-default login"):
        connect(bucket="some-bucket")
    monkeypatch.setattr("google.auth.default", lambda: (None, None))
    with pytest.raises(LessonError, match="no project is known"):
        connect(bucket="some-bucket")


@pytest.mark.parametrize("name", ["My Bucket", "Maria", "s3://lesson", "a", "a/b"])
def test_a_name_that_no_bucket_can_have_is_refused_with_the_rule(cloud: Status, name: str) -> None:
    rule = "3 to 63 small letters, digits and hyphens, such as maria-lesson"
    with pytest.raises(LessonError, match=f"^bucket {name}: .*{rule}$"):
        connect(name)


def test_a_region_that_is_none_is_refused_in_one_sentence(cloud: Status) -> None:
    with pytest.raises(LessonError, match=r"^Vertex AI has no region europe; .* europe-west4$"):
        connect(region="europe")


def test_a_process_pointed_at_the_local_cloud_never_claims_to_be_in_the_real_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1/secret")
    with pytest.raises(LessonError, match="still pointed at the local cloud"):
        connect(bucket="some-bucket", project="p")


def test_the_label_of_a_bucket_with_dots_is_a_label() -> None:
    assert Session("cloud", "p", "r", "my.bucket").labels == {"made_by_lesson": "my_bucket"}
