"""The pages on the real clouds say what the code does: prices, quotas, policies, variables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest

import AWS_helpers.readiness as amazon
import GCP_helpers.readiness as google
from AWS_helpers.costs import estimate_cost as on_amazon
from GCP_helpers.costs import estimate_cost as on_google
from lesson.money.costs import dollars
from local_cloud import Status
from tests.lesson.test_day_costs import BILLED, DAY, NOTES

ROOT = Path(__file__).parents[2]
GOOGLE = (ROOT / "learners/google-cloud.md").read_text(encoding="utf-8")
AMAZON = (ROOT / "learners/amazon-web-services.md").read_text(encoding="utf-8")
JOB = BILLED / 3600  # hours


def usd(amount: float) -> str:
    return dollars(amount).removeprefix("$")


def rows(page: str) -> dict[str, str]:
    """The table of costs."""
    section = page.partition("{#cost}")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (\S.*?) \| ([\d.]+) \|$", section, re.MULTILINE))


def policies() -> list[dict[str, Any]]:
    """The JSON blocks of Amazon's page."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", AMAZON, re.DOTALL)]


def test_what_one_learner_costs_is_what_estimate_cost_says() -> None:
    days = {row[0]: row for row in DAY.findall(NOTES)}
    assert rows(GOOGLE) == {
        "an hour of `n1-standard-4`": usd(on_google("n1-standard-4").usd),
        "an hour of `n1-standard-4` with a T4": usd(on_google("n1-standard-4", "T4").usd),
        "one job on `n1-standard-4`": usd(on_google("n1-standard-4", hours=JOB).usd),
        "one job on `n1-standard-4` with a T4": usd(
            on_google("n1-standard-4", "T4", hours=JOB).usd
        ),
        "all jobs of a Google day on Vertex AI": days["Google"][2],
    }
    assert rows(AMAZON) == {
        "an hour of `ml.m5.xlarge`": usd(on_amazon("ml.m5.xlarge").usd),
        "an hour of `ml.g4dn.xlarge`": usd(on_amazon("ml.g4dn.xlarge").usd),
        "one job on `ml.m5.xlarge`": usd(on_amazon("ml.m5.xlarge", hours=JOB).usd),
        "one job on `ml.g4dn.xlarge`": usd(on_amazon("ml.g4dn.xlarge", hours=JOB).usd),
        "all jobs of an Amazon day on SageMaker": days["Amazon"][4],
    }
    assert f"taken for {BILLED} seconds" in GOOGLE and f"taken for {BILLED} seconds" in AMAZON


def test_the_quotas_are_those_that_the_check_looks_at() -> None:
    rows = re.findall(r"^\| `([\w. -]+)` \| (\d+) \|", GOOGLE, re.MULTILINE)
    assert {name: int(need) for name, need in rows} == google.QUOTAS
    rows = re.findall(r"^\| `(\S+) for training job usage` \| (\d+) \|", AMAZON, re.MULTILINE)
    assert {name: int(need) for name, need in rows} == amazon.INSTANCES


def test_the_trust_policy_is_one_that_the_check_accepts(cloud: Status) -> None:
    trust, *_ = policies()
    role = boto3.client("iam").get_role(RoleName="SageMakerExecutionRole")["Role"]
    assert trust == role["AssumeRolePolicyDocument"]
    (statement,) = trust["Statement"]
    assert amazon._trusts(statement, amazon.SERVICE)


def test_the_policies_allow_what_the_check_asks_about() -> None:
    _, job, learner = policies()
    of_jobs = {action for one in job["Statement"] for action in amazon._each(one["Action"])}
    assert {*amazon.IN_BUCKET, "s3:ListBucket"} <= of_jobs
    of_learners = {action for one in learner["Statement"] for action in amazon._each(one["Action"])}
    own = {action for action in amazon.ACTIONS if not action.startswith("sagemaker:")}
    assert {*own, "iam:PassRole", "iam:GetRole", "iam:SimulatePrincipalPolicy"} <= of_learners
    assert "AmazonSageMakerFullAccess" in AMAZON  # which has the rest


def test_the_apis_are_those_that_the_check_looks_for() -> None:
    for name in (*google.APIS, "serviceusage", "artifactregistry"):
        assert f"{name}.googleapis.com" in GOOGLE


@pytest.mark.parametrize(("page", "cloud"), [(GOOGLE, "gcp"), (AMAZON, "aws")])
def test_the_commands_are_there_and_nothing_is_claimed_that_nobody_has_done(
    page: str, cloud: str
) -> None:
    assert "LESSON_TARGET=cloud make lab" in page and "LESSON_BUCKET=" in page
    assert f"python -m lesson.check --target cloud --cloud {cloud}" in page
    assert f"python -m tools.image --cloud {cloud}" in page
    assert "Nobody has yet run the lesson there" in page
    index = (ROOT / "index.md").read_text(encoding="utf-8")
    assert "Nobody has run the lesson there yet." in index
