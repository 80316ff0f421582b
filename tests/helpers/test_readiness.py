"""The check of an account: one line each, from the local cloud and from recorded refusals."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from local_cloud import Status
from tests.helpers.sides import ROOT, Side

Cases = dict[str, dict[str, Any]]
NAMES = {
    "Google": ["credentials", "project", "APIs", "permissions", "bucket", "quota", "image"],
    "Amazon": ["credentials", "role", "permissions", "bucket", "SageMaker", "quota", "image"],
}
CASES = {
    "Google": "tests.GCP_helpers.readiness_cases",
    "Amazon": "tests.AWS_helpers.readiness_cases",
}
ENVIRONMENT = {  # beside PATH, in which LESSON_BUCKET is a bucket of the local cloud
    "Google": {"GOOGLE_CLOUD_PROJECT": "my-project"},
    "Amazon": {
        "LESSON_TARGET": "cloud",
        "AWS_ACCESS_KEY_ID": "AN-ACCESS-KEY",
        "AWS_SECRET_ACCESS_KEY": "a-secret",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    },
}


@pytest.fixture(scope="module")
def cases_of(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Side], Cases]:
    """Run the command once for each case of a side, in a process with LESSON_TARGET=cloud."""
    assert cloud.url
    forward_to = {"Google": cloud.url, "Amazon": f"{cloud.url}/aws"}

    @cache
    def cases(side: Side) -> Cases:
        folder = tmp_path_factory.mktemp("readiness")
        side.connect()
        side.create_bucket("recorded")
        done = subprocess.run(
            [sys.executable, "-m", CASES[side.cloud], str(folder / "record.json")],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "FORWARD_TO": forward_to[side.cloud],
                "LESSON_BUCKET": "recorded",
                **ENVIRONMENT[side.cloud],
            },
            capture_output=True,
            text=True,
        )
        side.delete_bucket("recorded")
        assert done.returncode == 0, done.stderr[-3000:]
        cases: Cases = json.loads((folder / "record.json").read_text())
        return cases

    return cases


@pytest.fixture
def cases(side: Side, cases_of: Callable[[Side], Cases]) -> Cases:
    """What the command printed in each case."""
    return cases_of(side)


def lines(case: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Word and text for the name of each line."""
    rows = [row for row in case["out"].splitlines() if row[:4].strip() in ("PASS", "FIX", "SKIP")]
    return {row[6:23].strip(): (row[:4].strip(), row[25:]) for row in rows}


def test_every_case_prints_one_line_for_each_thing_and_no_traceback(
    side: Side, cases: Cases
) -> None:
    for name, case in cases.items():
        assert list(lines(case)) == NAMES[side.cloud], name
        assert "Traceback" not in case["out"]
        assert case["ready"] == ("All is ready." in case["out"])


@pytest.mark.parametrize(
    ("side", "case"),
    [
        ("Google", "ready"),
        ("Amazon", "ready"),
        ("Amazon", "a role in Studio"),
        ("Amazon", "a user with a role"),
        ("Amazon", "no bucket yet"),
    ],
    indirect=["side"],
)
def test_an_account_that_is_ready_passes(cases: Cases, case: str) -> None:
    assert {word for word, _ in lines(cases[case]).values()} == {"PASS"}, cases[case]["out"]
    assert cases[case]["ready"]


@pytest.mark.parametrize(
    ("side", "here", "not_here"),
    [
        ("Google", ["credentials", "project", "bucket"], ["APIs", "permissions", "quota"]),
        ("Amazon", ["credentials", "role", "permissions", "bucket", "SageMaker"],
         ["quota", "image"]),
    ],
    indirect=["side"],
)  # fmt: skip
def test_on_the_local_cloud_it_says_what_cannot_be_told_there(
    cases: Cases, here: list[str], not_here: list[str]
) -> None:
    case = lines(cases["the local cloud"])
    for name in here:
        assert case[name][0] == "PASS", case[name]
    for name in not_here:
        assert case[name] == ("SKIP", "this service is not here, so it cannot be told")


def test_the_check_asks_and_changes_nothing(side: Side, cases: Cases) -> None:
    asked = [one for case in cases.values() for one in case["asked"]]
    if side.cloud == "Google":
        writing = [one for one in asked if not one.startswith(("GET ", "HEAD "))]
        assert all(":testIamPermissions" in one or "/token" in one for one in writing), writing
    else:
        read = ("Get", "List", "Head", "Describe", "Simulate", "BatchGet")
        assert all(one.split()[1].startswith(read) for one in asked), asked
    assert asked


GOOGLE = [
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
]
AMAZON = [
    ("no credentials", "credentials", "run `aws configure` or `aws sso login`"),
    ("credentials not accepted", "credentials", "not accepted (InvalidClientTokenId)"),
    ("credentials expired", "credentials", "have expired (ExpiredToken)"),
    ("an endpoint", "credentials", "AWS_ENDPOINT_URL is set"),
    ("a user without a role", "role", "name its ARN in LESSON_ROLE"),
    ("a role of other services", "role", "does not let sagemaker.amazonaws.com assume"),
    ("no such role", "role", "there is no role LessonRole: make it"),
    ("policies that deny", "permissions", "sagemaker:CreateTrainingJob, "),
    ("policies that deny", "permissions", "iam:PassRole"),
    ("policies that deny", "bucket", "lacks s3:ListBucket, s3:GetObject, s3:PutObject"),
    ("another Region", "bucket", "is in us-east-1, the jobs are in eu-central-1"),
    ("no bucket named", "bucket", "set LESSON_BUCKET"),
    ("somebody else's bucket", "bucket", "belongs to somebody else"),
    ("a bucket elsewhere", "bucket", "is in eu-central-1, the jobs are in us-east-1"),
    ("no quota", "quota", "(ml.g4dn.xlarge for training job usage: 1) days before"),
    ("no image", "image", "python -m tools.image --cloud aws"),
    ("an image without its tag", "image", "there is no 763104351884.dkr.ecr.us-east-1"),
]


@pytest.mark.parametrize(
    ("side", "case", "name", "text"),
    [*(("Google", *refusal) for refusal in GOOGLE), *(("Amazon", *refusal) for refusal in AMAZON)],
    indirect=["side"],
)
def test_a_refusal_becomes_a_line_with_the_next_step(
    cases: Cases, case: str, name: str, text: str
) -> None:
    word, said = lines(cases[case])[name]
    assert word == "FIX" and text in said
    assert not cases[case]["ready"]


@pytest.mark.parametrize(
    ("side", "case", "name", "word", "text"),
    [
        ("Google", "ready", "project", "PASS", r"^my-project, projects/123456789012$"),
        ("Google", "ready", "bucket", "PASS", r"^gs://recorded in us-central1; you may write"),
        ("Google", "ready", "quota", "PASS", "custom_model_training_nvidia_t4_gpus 2 in us-centr"),
        ("Google", "another region", "quota", "PASS", "custom_model_training_cpus 42, "),
        ("Google", "another region", "quota", "PASS", r"42 in europe-west4$"),
        ("Amazon", "another Region", "quota", "PASS", "ml.g4dn.xlarge 1 in eu-central-1"),
        ("Amazon", "a role in Studio", "role", "PASS",
         r"^arn:aws:iam::111122223333:role/LessonRole, which SageMaker may assume$"),
        ("Amazon", "may not look at roles", "role", "SKIP",
         "cannot be told: User: arn:aws:sts::1111"),
        ("Amazon", "may not look at roles", "bucket", "PASS",
         "whether the role may write is not known"),
        ("Amazon", "no bucket yet", "bucket", "PASS", r"connect\(\) makes it in us-east-1"),
    ],
    indirect=["side"],
)  # fmt: skip
def test_a_line_says_what_was_found(
    cases: Cases, case: str, name: str, word: str, text: str
) -> None:
    line = lines(cases[case])[name]
    assert line[0] == word and re.search(text, line[1]), line


@pytest.mark.parametrize(
    ("side", "case", "missing"),
    [
        ("Google", "no credentials", "credentials"),
        ("Google", "no such project", "project"),
        ("Amazon", "credentials expired", "credentials"),
    ],
    indirect=["side"],
)
def test_before_credentials_and_project_pass_nothing_else_is_asked(
    side: Side, cases: Cases, case: str, missing: str
) -> None:
    names = NAMES[side.cloud]
    rest = names[names.index(missing) + 1 :]
    skipped = ("SKIP", f"not looked at before the line {missing} passes")
    assert [lines(cases[case])[name] for name in rest] == [skipped] * len(rest)


@pytest.mark.parametrize("side", ["Amazon"], indirect=True)
def test_credentials_that_have_expired_are_the_only_question(cases: Cases) -> None:
    assert cases["credentials expired"]["asked"] == ["sts GetCallerIdentity"]


@pytest.mark.parametrize("side", ["Google"], indirect=True)
def test_the_lessons_own_image_is_asked_for_with_its_registry(cases: Cases) -> None:
    case = cases["an image of one's own"]
    assert lines(case)["image"] == ("PASS", "us-central1-docker.pkg.dev/my-project/lesson/train:1")
    assert any("artifactregistry.googleapis.com" in one for one in case["asked"])
    url = "https://us-central1-docker.pkg.dev/v2/my-project/lesson/train/manifests/1"
    assert f"HEAD {url}" in case["asked"]
