"""Check with read-only calls whether jobs can be sent to SageMaker: `python -m lesson.check`.

Everything here gets, lists, describes or simulates, which changes nothing. The calls and their
errors are in boto3's reference (read 2026-11-22): sts, iam, s3, sagemaker, service-quotas, ecr.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cached_property
from typing import Any

from AWS_helpers import images
from AWS_helpers.costs import MACHINE, REGION
from AWS_helpers.session import BUCKET_NAME, point_sdks, region_of
from lesson import LessonError
from lesson.services.sessions import bucket_name
from lesson.setup.findings import Fix, Skip

FIRST = ("credentials",)  # without these nothing else can be asked
SERVICE = "sagemaker.amazonaws.com"
# What the verbs do.
ACTIONS = (
    "sagemaker:AddTags",
    "sagemaker:CreateHyperParameterTuningJob",
    "sagemaker:CreateTrainingJob",
    "sagemaker:DescribeTrainingJob",
    "sagemaker:ListTrainingJobs",
    "sagemaker:StopTrainingJob",
    "logs:FilterLogEvents",
)
# A policy may let a role be passed to this service only: then the question has to name it.
PASSED = {
    "ContextKeyName": "iam:PassedToService",
    "ContextKeyType": "string",
    "ContextKeyValues": [SERVICE],
}
IN_BUCKET = ("s3:GetObject", "s3:PutObject")
# What the lesson's largest requests need of each instance type at a time.
INSTANCES = {"ml.m5.large": 2, MACHINE: 3, "ml.g4dn.xlarge": 1}
DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")
EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
LOGIN = "run `aws configure` or `aws sso login` in a terminal"


def checks(region: str | None = None) -> Mapping[str, Callable[[], str]]:
    """Return the checks by name, in order; `region` is where the jobs run."""
    amazon = Amazon(region or REGION)
    return {
        "credentials": amazon.credentials,
        "role": amazon.check_role,
        "permissions": amazon.check_permissions,
        "bucket": amazon.check_bucket,
        "SageMaker": amazon.check_sagemaker,
        "quota": amazon.check_quota,
        "image": amazon.check_image,
    }


class Amazon:
    """The checks; what one finds out the next ones use."""

    def __init__(self, region: str) -> None:
        """Take where the jobs run."""
        self.region = region

    def credentials(self) -> str:
        """Check that there are credentials, and that Amazon accepts them."""
        from botocore.exceptions import BotoCoreError, ClientError

        point_sdks()
        try:
            return f"accepted, account {self.caller['Account']}, {self.caller['Arn']}"
        except ClientError as refusal:
            what = "have expired" if _code(refusal) in EXPIRED else "are not accepted"
            raise Fix(f"your credentials {what} ({_code(refusal)}); {LOGIN}") from None
        except BotoCoreError as problem:  # none there, a half-written profile, no network
            raise Fix(
                f"{' '.join(str(problem).split())}; {LOGIN}, or look at your network"
            ) from None

    def check_role(self) -> str:
        """Check that there is a role, and that its trust policy lets SageMaker assume it."""
        name = self.role.rpartition("/")[2]
        try:
            role = self._ask("iam", "get_role", RoleName=name)["Role"]
        except LookupError:
            raise Fix(f"there is no role {name}: make it, or name another in LESSON_ROLE") from None
        trusted = any(
            _trusts(one, SERVICE) for one in _each(role["AssumeRolePolicyDocument"]["Statement"])
        )
        if not trusted:
            raise Fix(
                f"the trust policy of {name} does not let {SERVICE} assume it: add that, as on the "
                "lesson's page about Amazon Web Services"
            )
        return f"{role['Arn']}, which SageMaker may assume"

    def check_permissions(self) -> str:
        """Check that these credentials may send, list and cancel jobs, and pass the role."""
        denied = self._find_denied(self.own_role, ACTIONS)
        denied += self._find_denied(self.own_role, ["iam:PassRole"], self.role_arn)
        if denied:
            raise Fix(f"missing: {', '.join(denied)}; ask for a policy that allows them")
        return "these credentials may send, list and cancel jobs, and pass the role"

    def check_bucket(self) -> str:
        """Check that the bucket is where the jobs are, and that the role may use it."""
        name = bucket_name(None, "s3://", BUCKET_NAME)

        def find_region(client: Any) -> str | None:
            return region_of(client, name)

        where = self._call("s3", find_region)
        if where is None:
            return f"s3://{name} is not there yet; connect() makes it in {self.region}"
        if where != self.region:
            raise Fix(
                f"s3://{name} is in {where}, the jobs are in {self.region}: choose another name in "
                f"LESSON_BUCKET, or connect(region={where!r})"
            )
        try:
            denied = self._find_denied(self.role_arn, ["s3:ListBucket"], f"arn:aws:s3:::{name}")
            denied += self._find_denied(self.role_arn, IN_BUCKET, f"arn:aws:s3:::{name}/*")
        except Skip as reason:
            return f"s3://{name} in {where}; whether the role may write is not known: {reason}"
        if denied:
            raise Fix(
                f"s3://{name}: the role lacks {', '.join(denied)}; add a policy that allows them"
            )
        return f"s3://{name} in {where}; the role may list, read and write"

    def check_sagemaker(self) -> str:
        """Check that the service answers in the region."""
        jobs = self._ask("sagemaker", "list_training_jobs", MaxResults=1)["TrainingJobSummaries"]
        return f"it answers in {self.region}" + (
            f"; the newest job is {jobs[0]['TrainingJobName']}" if jobs else ""
        )

    def check_quota(self) -> str:
        """Check that the account's quotas are enough for the lesson's largest requests."""
        wanted = {f"{kind} for training job usage": kind for kind in INSTANCES}
        limits = dict.fromkeys(INSTANCES, 0)
        for page in self._pages("service-quotas", "list_service_quotas", ServiceCode="sagemaker"):
            for quota in page["Quotas"]:
                if kind := wanted.get(quota["QuotaName"]):
                    limits[kind] = int(quota["Value"])
        said = ", ".join(f"{kind} {limit}" for kind, limit in limits.items())
        if short := [kind for kind, need in INSTANCES.items() if limits[kind] < need]:
            wishes = ", ".join(
                f"{kind} for training job usage: {INSTANCES[kind]}" for kind in short
            )
            raise Fix(
                f"{said} in {self.region}; ask for more ({wishes}) days before you need it: "
                f"https://{self.region}.console.aws.amazon.com/servicequotas/home/services/sagemaker/quotas"
            )
        return f"{said} in {self.region}"

    def check_image(self) -> str:
        """Check that the image can be pulled."""
        image = images.image_for(MACHINE, self.region)
        match = images.ECR.fullmatch(image)
        if not match:
            raise Fix(f"{image} is not in a registry of Amazon (ECR), from which SageMaker pulls")
        account, region, name, tag = match.groups()
        try:
            answer = self._ask(
                "ecr", "batch_get_image", region, registryId=account, repositoryName=name,
                imageIds=[{"imageTag": tag}],
            )  # fmt: skip
        except LookupError:
            answer = {"images": []}
        if not answer["images"]:
            raise Fix(
                f"there is no {image}: build and push the lesson's own (`python -m tools.image "
                "--cloud aws` prints how), and name it in LESSON_IMAGE"
            )
        return images.check(image, date.today()) or image

    # ---- who asks, and for which role -----------------------------------------------------------
    @cached_property
    def caller(self) -> Mapping[str, str]:
        """Return whose the credentials are."""
        identity: Mapping[str, str] = self._client("sts").get_caller_identity()
        return identity

    @cached_property
    def role(self) -> str:
        """Return the role of the jobs, its ARN or name: the one named, or this machine's own."""
        if named := os.environ.get("LESSON_ROLE"):
            return named
        if own := re.fullmatch(
            r"arn:aws[^:]*:sts::\d+:assumed-role/([^/]+)/.*", self.caller["Arn"]
        ):
            return own[1]
        raise Fix(
            f"{self.caller['Arn']} is a user, and SageMaker has to assume a role: make one, as on "
            "the lesson's page about Amazon Web Services, and name its ARN in LESSON_ROLE"
        )

    @property
    def role_arn(self) -> str:
        """Return the role's ARN."""
        return self._arn(self.role)

    @property
    def own_role(self) -> str:
        """Return the ARN by which policies are simulated: the caller's, of a session its role's."""
        own = re.fullmatch(r"arn:aws[^:]*:sts::\d+:assumed-role/([^/]+)/.*", self.caller["Arn"])
        return self._arn(own[1]) if own else self.caller["Arn"]

    def _arn(self, role: str) -> str:
        if role.startswith("arn:"):
            return role
        return f"arn:aws:iam::{self.caller['Account']}:role/{role}"

    # ---- what is asked --------------------------------------------------------------------------
    @cached_property
    def _session(self) -> Any:
        import boto3

        return boto3.Session(region_name=self.region)

    def _client(self, service: str, region: str | None = None) -> Any:
        from botocore.config import Config

        once = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 2})
        return self._session.client(service, region_name=region, config=once)

    def _ask(self, service: str, call: str, region: str | None = None, **parameters: Any) -> Any:
        """Return a service's answer; LookupError for what is not there, Skip for what is denied."""

        def ask(client: Any) -> Any:
            method = getattr(client, call)
            return method(**parameters)

        return self._call(service, ask, region)

    def _pages(self, service: str, call: str, **parameters: Any) -> Any:
        def read_pages(client: Any) -> list[Any]:
            return list(client.get_paginator(call).paginate(**parameters))

        return self._call(service, read_pages)

    def _call(self, service: str, call: Callable[[Any], Any], region: str | None = None) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call(self._client(service, region))
        except ClientError as refusal:
            said = refusal.response["Error"].get("Message", "")
            if refusal.response["ResponseMetadata"]["HTTPStatusCode"] == 501:
                raise Skip("this service is not here, so it cannot be told") from None
            if _code(refusal) in DENIED:
                raise Skip(f"you may not ask, so it cannot be told: {said}") from None
            if _code(refusal) in ("NoSuchEntity", "RepositoryNotFoundException"):
                raise LookupError(said) from None
            raise Fix(f"{service} answers {_code(refusal)}: {said}") from None
        except LessonError as refusal:
            raise Fix(str(refusal)) from None
        except BotoCoreError as problem:
            raise Fix(
                f"{service}: {' '.join(str(problem).split())}; look at your network"
            ) from None

    def _find_denied(self, role: str, actions: Iterable[str], *resources: str) -> list[str]:
        """Return which actions the policies of a role or user do not allow."""
        where: dict[str, Any] = {"ResourceArns": [*resources]} if resources else {}
        question = {
            "PolicySourceArn": role,
            "ActionNames": [*actions],
            "ContextEntries": [PASSED],
            **where,
        }
        results = self._ask("iam", "simulate_principal_policy", **question)["EvaluationResults"]
        return [one["EvalActionName"] for one in results if one["EvalDecision"] != "allowed"]


def _code(refusal: Any) -> str:
    return str(refusal.response["Error"]["Code"])


def _each(value: Any) -> list[Any]:
    """Return a value of a policy as a list; one alone may stand without."""
    return value if isinstance(value, list) else [value]


def _trusts(statement: Mapping[str, Any], service: str) -> bool:
    """Tell whether a statement of a trust policy lets a service assume the role."""
    principal = statement.get("Principal", {})
    services = _each(principal.get("Service", [])) if isinstance(principal, dict) else []
    allows = statement.get("Effect") == "Allow" and service in services
    return allows and "sts:AssumeRole" in _each(statement.get("Action", []))
