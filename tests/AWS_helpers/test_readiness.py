"""The check of Amazon: one line each, from the local cloud and from recorded refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_cloud.control import Status

ROOT = Path(__file__).parents[2]
NAMES = ["credentials", "role", "permissions", "bucket", "SageMaker", "quota", "image"]
READ = ("Get", "List", "Head", "Describe", "Simulate", "BatchGet")
Found = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def found(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What the command printed in each case, in a process with LESSON_TARGET=cloud."""
    assert cloud.url
    boto3.client("s3").create_bucket(Bucket="recorded")
    folder = tmp_path_factory.mktemp("readiness")
    done = subprocess.run(
        [sys.executable, "-m", "tests.AWS_helpers.readiness_cases", str(folder / "record.json")],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "FORWARD_TO": f"{cloud.url}/aws",
            "LESSON_TARGET": "cloud",
            "LESSON_BUCKET": "recorded",
            "AWS_ACCESS_KEY_ID": "AN-ACCESS-KEY",
            "AWS_SECRET_ACCESS_KEY": "a-secret",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        },
        capture_output=True,
        text=True,
    )
    boto3.client("s3").delete_bucket(Bucket="recorded")
    assert done.returncode == 0, done.stderr[-3000:]
    cases: Found = json.loads((folder / "record.json").read_text())
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


@pytest.mark.parametrize(
    "case", ["ready", "a role in Studio", "no bucket yet", "a user with a role"]
)
def test_an_account_that_is_ready_passes(found: Found, case: str) -> None:
    assert {word for word, _ in lines(found[case]).values()} == {"PASS"}, found[case]["out"]
    assert found[case]["ready"]


def test_the_check_asks_and_changes_nothing(found: Found) -> None:
    asked = {one.split()[1] for case in found.values() for one in case["asked"]}
    assert asked and all(one.startswith(READ) for one in asked), asked


def test_on_the_local_cloud_it_says_what_cannot_be_told_there(found: Found) -> None:
    case = lines(found["the local cloud"])
    for name in ("credentials", "role", "permissions", "bucket", "SageMaker"):
        assert case[name][0] == "PASS", case[name]
    for name in ("quota", "image"):
        assert case[name] == ("SKIP", "this service is not here, so it cannot be told")


def test_the_role_is_named_by_the_role_of_the_session(found: Found) -> None:
    said = lines(found["a role in Studio"])["role"][1]
    assert said == "arn:aws:iam::111122223333:role/LessonRole, which SageMaker may assume"


@pytest.mark.parametrize(
    ("case", "name", "word", "text"),
    [
        ("no credentials", "credentials", "FIX", "run `aws configure` or `aws sso login`"),
        ("credentials not accepted", "credentials", "FIX", "not accepted (InvalidClientTokenId)"),
        ("credentials expired", "credentials", "FIX", "have expired (ExpiredToken)"),
        ("an endpoint", "credentials", "FIX", "AWS_ENDPOINT_URL is set"),
        ("a user without a role", "role", "FIX", "name its ARN in LESSON_ROLE"),
        ("a role of other services", "role", "FIX", "does not let sagemaker.amazonaws.com assume"),
        ("no such role", "role", "FIX", "there is no role LessonRole: make it"),
        ("may not look at roles", "role", "SKIP", "cannot be told: User: arn:aws:sts::1111"),
        ("policies that deny", "permissions", "FIX", "sagemaker:CreateTrainingJob, "),
        ("policies that deny", "permissions", "FIX", "iam:PassRole"),
        ("policies that deny", "bucket", "FIX", "lacks s3:ListBucket, s3:GetObject, s3:PutObject"),
        ("may not look at roles", "bucket", "PASS", "whether the role may write is not known"),
        ("another Region", "bucket", "FIX", "is in us-east-1, the jobs are in eu-central-1"),
        ("another Region", "quota", "PASS", "ml.g4dn.xlarge 1 in eu-central-1"),
        ("no bucket named", "bucket", "FIX", "set LESSON_BUCKET"),
        ("somebody else's bucket", "bucket", "FIX", "belongs to somebody else"),
        ("no bucket yet", "bucket", "PASS", "connect() makes it in us-east-1"),
        ("a bucket elsewhere", "bucket", "FIX", "is in eu-central-1, the jobs are in us-east-1"),
        ("no quota", "quota", "FIX", "(ml.g4dn.xlarge for training job usage: 1) days before"),
        ("no image", "image", "FIX", "python -m tools.image --cloud aws"),
        ("an image without its tag", "image", "FIX", "there is no 763104351884.dkr.ecr.us-east-1"),
    ],
)
def test_a_refusal_becomes_a_line_with_the_next_step(
    found: Found, case: str, name: str, word: str, text: str
) -> None:
    line = lines(found[case])[name]
    assert line[0] == word and text in line[1], line


def test_without_credentials_nothing_else_is_asked(found: Found) -> None:
    case = found["credentials expired"]
    assert case["asked"] == ["sts GetCallerIdentity"]
    skipped = ("SKIP", "not looked at before the line credentials passes")
    assert [lines(case)[name] for name in NAMES[1:]] == [skipped] * 6
