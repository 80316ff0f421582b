"""The check of Google Cloud: one line each, from the local cloud and from recorded refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.cloud import storage

from local_cloud.control import Status

ROOT = Path(__file__).parents[2]
NAMES = ["credentials", "project", "APIs", "permissions", "bucket", "quota", "image"]
Found = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def found(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What the command printed in each case, in a process with LESSON_TARGET=cloud."""
    assert cloud.url
    made = storage.Client(project="my-project").create_bucket("recorded", location="us-central1")
    record = tmp_path_factory.mktemp("readiness") / "record.json"
    done = subprocess.run(
        [sys.executable, "-m", "tests.GCP_helpers.readiness_cases", str(record)],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "FORWARD_TO": cloud.url,
            "LESSON_BUCKET": "recorded",
            "GOOGLE_CLOUD_PROJECT": "my-project",
        },
        capture_output=True,
        text=True,
    )
    made.delete()
    assert done.returncode == 0, done.stderr[-3000:]
    cases: Found = json.loads(record.read_text())
    return cases


def lines(case: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Word and text for the name of each line."""
    rows = [row for row in case["out"].splitlines() if row[:4].strip() in ("PASS", "FIX", "SKIP")]
    return {row[6:23].strip(): (row[:4].strip(), row[25:]) for row in rows}


def test_every_case_prints_one_line_for_each_thing_and_no_traceback(found: Found) -> None:
    for name, case in found.items():
        assert list(lines(case)) == NAMES, name
        assert "Traceback" not in case["out"]
        assert case["ready"] == ("All is ready." in case["out"])


def test_a_project_that_is_ready_passes(found: Found) -> None:
    case = found["ready"]
    assert case["ready"] and {word for word, _ in lines(case).values()} == {"PASS"}
    assert lines(case)["project"][1] == "my-project, projects/123456789012"
    assert lines(case)["bucket"][1].startswith("gs://recorded in us-central1; you may write")
    assert "custom_model_training_nvidia_t4_gpus 2 in us-central1" in lines(case)["quota"][1]


def test_the_check_asks_and_changes_nothing(found: Found) -> None:
    for case in found.values():
        writing = [one for one in case["asked"] if not one.startswith(("GET ", "HEAD "))]
        assert all(":testIamPermissions" in one or "/token" in one for one in writing), writing


def test_on_the_local_cloud_it_says_what_cannot_be_told_there(found: Found) -> None:
    case = lines(found["the local cloud"])
    for name in ("credentials", "project", "bucket"):
        assert case[name][0] == "PASS", case[name]
    for name in ("APIs", "permissions", "quota"):
        assert case[name] == ("SKIP", "this service is not here, so it cannot be told")


@pytest.mark.parametrize(
    ("case", "name", "text"),
    [
        ("no credentials", "credentials", "run `gcloud auth application-default login`"),
        ("credentials revoked", "credentials", "does not accept them (invalid_grant: Token has"),
        ("an emulator", "credentials", "STORAGE_EMULATOR_HOST is set"),
        ("no quota project", "project", "application-default set-quota-project my-project`"),
        ("no such project", "project", "Look at the project's id in GOOGLE_CLOUD_PROJECT"),
        ("a project that is deleted", "project", "my-project is DELETE_REQUESTED: name another"),
        (
            "Resource Manager disabled",
            "project",
            "`gcloud services enable cloudresourcemanager.googleapis.com --project my-project`",
        ),
        ("an answer that is not JSON", "project", "answers 502; try again in a few"),
        ("Service Usage disabled", "APIs", "enable serviceusage.googleapis.com --project"),
        ("Vertex AI disabled", "APIs", "run `gcloud services enable aiplatform.googleapis.com"),
        ("permissions missing", "permissions", "aiplatform.customJobs.create, "),
        ("another region", "bucket", "is in us-central1, the jobs are in europe-west4"),
        ("no bucket named", "bucket", "set LESSON_BUCKET"),
        ("somebody else's bucket", "bucket", "gs://recorded belongs to somebody else"),
        ("a bucket elsewhere", "bucket", "is in europe-west4, the jobs are in us-central1"),
        ("a bucket to read only", "bucket", "missing storage.objects.create, storage.objects.del"),
        ("no quota", "quota", "(custom_model_training_nvidia_t4_gpus: 1) days before you need it"),
        ("no image", "image", "python -m tools.image --cloud gcp"),
    ],
)
def test_a_refusal_becomes_a_line_with_the_next_step(
    found: Found, case: str, name: str, text: str
) -> None:
    word, said = lines(found[case])[name]
    assert word == "FIX" and text in said
    assert not found[case]["ready"]


def test_without_credentials_or_project_nothing_else_is_asked(found: Found) -> None:
    for case, missing in (("no credentials", "credentials"), ("no such project", "project")):
        rest = NAMES[NAMES.index(missing) + 1 :]
        skipped = ("SKIP", f"not looked at before the line {missing} passes")
        assert [lines(found[case])[name] for name in rest] == [skipped] * len(rest)


def test_the_quota_is_that_of_the_region(found: Found) -> None:
    assert "custom_model_training_cpus 42, " in lines(found["another region"])["quota"][1]
    assert lines(found["another region"])["quota"][1].endswith("42 in europe-west4")


def test_the_lessons_own_image_is_asked_for_with_its_registry(found: Found) -> None:
    case = found["an image of one's own"]
    assert lines(case)["image"] == ("PASS", "us-central1-docker.pkg.dev/my-project/lesson/train:1")
    assert any("artifactregistry.googleapis.com" in one for one in case["asked"])
    url = "https://us-central1-docker.pkg.dev/v2/my-project/lesson/train/manifests/1"
    assert f"HEAD {url}" in case["asked"]
