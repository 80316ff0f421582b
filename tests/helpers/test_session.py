"""Connecting: what must be known, and what is said when it is not."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from lesson import LessonError
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from local_cloud import Status
from tests.helpers.sides import Side

RUN = Run("here", "a machine", 1.0, 0.8, 0.4, "runs/here")
CALLS: dict[str, Callable[[ModuleType], Any]] = {
    "tune": lambda helpers: helpers.tune({}, {}),
    "upload": lambda helpers: helpers.upload("README.md"),
    "train": lambda helpers: helpers.train({}),
    "wait": lambda helpers: helpers.wait("job"),
    "cancel": lambda helpers: helpers.cancel("job"),
    "list_jobs": lambda helpers: helpers.list_jobs(),
    "cleanup": lambda helpers: helpers.cleanup(),
    "deploy": lambda helpers: helpers.deploy(RUN),
    "predict": lambda helpers: helpers.predict("endpoint", []),
    "register": lambda helpers: helpers.register(RUN),
    "write_job": lambda helpers: helpers.write_job(Request()),
    "train_on_vm": lambda helpers: helpers.train_on_vm({}),
    "write_manifest": lambda helpers: helpers.write_manifest({}),
}
ROLE = "arn:aws:iam::123456789012:role/MyRole"
OWNER = {"Google": {"project": "p"}, "Amazon": {"role": ROLE}}  # what connect() needs under cloud


@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_asks_for_connect_first(side: Side, verb: str) -> None:
    with pytest.raises(LessonError, match=r"^not connected yet; call connect\(\) first$"):
        CALLS[verb](side.helpers)


def test_the_package_names_exactly_the_verbs(side: Side) -> None:
    """Both sides of the lesson have the same verbs."""
    assert sorted({*CALLS, "connect", "estimate_cost"}) == dir(side.helpers)
    with pytest.raises(AttributeError, match="no attribute 'explain'"):
        _ = side.helpers.explain


@pytest.mark.parametrize(
    ("side", "settled"),
    [("Google", ("local", "p", "us-central1", "b")), ("Amazon", ("local", ROLE, "us-east-1", "b"))],
    indirect=["side"],
)
def test_a_change_of_target_asks_for_a_new_kernel(
    side: Side, settled: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = side.session
    monkeypatch.setattr(session, "_session", session.Session(*settled))
    assert session.current_session().uri == f"{side.scheme}://b"
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(LessonError, match="connected to local, but LESSON_TARGET is now cloud"):
        session.current_session()


def test_the_cloud_target_needs_a_bucket(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    with pytest.raises(LessonError, match=r"no bucket is known; choose a name that nobody else"):
        side.helpers.connect(**OWNER[side.cloud])


@pytest.mark.parametrize(
    ("side", "name"),
    [
        *(("Google", name) for name in ("My Bucket", "Maria", "s3://lesson", "a", "a/b")),
        *(("Amazon", name) for name in ("My Bucket", "Maria", "gs://lesson", "a", "a/b")),
        ("Amazon", "maria_lesson"),
    ],
    indirect=["side"],
)
def test_a_name_that_no_bucket_can_have_is_refused_with_the_rule(
    side: Side, cloud: Status, name: str
) -> None:
    rule = "3 to 63 small letters, digits and hyphens, such as maria-lesson"
    with pytest.raises(LessonError, match=f"^bucket {name}: .*{rule}$"):
        side.helpers.connect(name)


@pytest.mark.parametrize(
    ("side", "sentence"),
    [
        ("Google", r"^Vertex AI has no region europe; .* europe-west4$"),
        ("Amazon", r"^there is no region europe; .* eu-central-1$"),
    ],
    indirect=["side"],
)
def test_a_region_that_is_none_is_refused_in_one_sentence(
    side: Side, sentence: str, cloud: Status
) -> None:
    with pytest.raises(LessonError, match=sentence):
        side.helpers.connect(region="europe")


@pytest.mark.parametrize(
    ("side", "variable"),
    [("Google", "STORAGE_EMULATOR_HOST"), ("Amazon", "AWS_ENDPOINT_URL")],
    indirect=["side"],
)
def test_a_process_pointed_at_the_local_cloud_never_claims_to_be_in_the_real_one(
    side: Side, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LESSON_TARGET", "cloud")
    monkeypatch.setenv(variable, "http://127.0.0.1:1/secret")
    with pytest.raises(LessonError, match="still pointed at the local cloud"):
        side.helpers.connect(bucket="some-bucket", **OWNER[side.cloud])
