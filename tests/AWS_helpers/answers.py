"""Answers of Amazon's services, as public records have them: what each case of a check meets.

A case is a list of (service, operation, status, answer); the first that fits answers, and what no
case names goes to the local cloud. An answer is (code, message) of an error, or the parameters of
the answer, which botocore's own models turn into what is on the wire. Ids are made up.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

Answer = tuple[str, str, int, Any]
ACCOUNT = "111122223333"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/LessonRole"
SESSION = f"arn:aws:sts::{ACCOUNT}:assumed-role/LessonRole/SageMaker"
USER = f"arn:aws:iam::{ACCOUNT}:user/ada"


def caller(arn: str) -> Answer:
    """Whose the credentials are."""
    return ("sts", "GetCallerIdentity", 200, {"UserId": "X", "Account": ACCOUNT, "Arn": arn})


def role(service: str | list[str], action: str = "sts:AssumeRole") -> Answer:
    """A role, with what its trust policy says, quoted as IAM quotes documents."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": action}
    document = {"Version": "2012-10-17", "Statement": [statement]}
    made = {"Path": "/", "RoleName": "LessonRole", "RoleId": "AROAEXAMPLE", "Arn": ROLE}
    return (
        "iam",
        "GetRole",
        200,
        {"Role": made | {"AssumeRolePolicyDocument": quote(json.dumps(document))}},
    )


def simulated(decision: str) -> Answer:
    """What policies say of every action that is asked about."""
    return ("iam", "SimulatePrincipalPolicy", 200, decision)


def quotas(**values: float) -> Answer:
    """Quotas of SageMaker's training jobs, each by its instance type, among others."""
    names = {f"ml.{name.replace('_', '.')} for training job usage": n for name, n in values.items()}
    named_values = names | {
        "ml.m5.xlarge for endpoint usage": 50.0,
        "Maximum number of domains": 10.0,
    }
    return (
        "service-quotas",
        "ListServiceQuotas",
        200,
        {
            "Quotas": [
                {"ServiceCode": "sagemaker", "QuotaName": n, "Value": v}
                for n, v in named_values.items()
            ]
        },
    )


IMAGE = ("ecr", "BatchGetImage", 200, {"images": [{"repositoryName": "x"}]})
READY: list[Answer] = [quotas(m5_large=4, m5_xlarge=4, g4dn_xlarge=1), IMAGE]
# Codes and messages of errors that all services share:
# docs.aws.amazon.com/STS/latest/APIReference/CommonErrors.html (read 2026-11-22).
INVALID = ("InvalidClientTokenId", "The security token included in the request is invalid.")
EXPIRED = ("ExpiredToken", "The security token included in the request is expired")
# The words are as in github.com/aws-samples/mlops-sagemaker-github-actions/issues/4 (2023-09-08).
DENIED = (
    "AccessDenied",
    f"User: {SESSION} is not authorized to perform: iam:GetRole on resource: role LessonRole "
    "because no identity-based policy allows the iam:GetRole action",
)
NO_ROLE = ("NoSuchEntity", "The role with name LessonRole cannot be found.")
# botocore's model of ecr names the error; the words are those of the registry.
NO_REPOSITORY = (
    "RepositoryNotFoundException",
    "The repository with name 'lesson' does not exist in the registry with id '111122223333'",
)
ELSEWHERE = ("s3", "HeadBucket", 200, {"BucketRegion": "eu-central-1"})
CASES: dict[str, list[Answer]] = {
    "ready": READY,
    "the local cloud": [],
    "credentials not accepted": [("sts", "GetCallerIdentity", 403, INVALID)],
    "credentials expired": [("sts", "GetCallerIdentity", 403, EXPIRED)],
    "a user without a role": [caller(USER), *READY],
    "a role in Studio": [
        caller(SESSION), role(["ec2.amazonaws.com", "sagemaker.amazonaws.com"]),
        simulated("allowed"), *READY,
    ],
    "a role of other services": [
        caller(SESSION), role("ec2.amazonaws.com"), simulated("allowed"), *READY,
    ],
    "no such role": [
        caller(SESSION), ("iam", "GetRole", 404, NO_ROLE), simulated("allowed"), *READY,
    ],
    "may not look at roles": [
        caller(SESSION), ("iam", "GetRole", 403, DENIED),
        ("iam", "SimulatePrincipalPolicy", 403, DENIED), *READY,
    ],
    "a user with a role": [
        caller(USER), role("sagemaker.amazonaws.com"), simulated("allowed"), *READY,
    ],
    "policies that deny": [
        caller(SESSION), role("sagemaker.amazonaws.com"), simulated("implicitDeny"), *READY,
    ],
    # A HEAD has no body: its status is all that botocore learns.
    "somebody else's bucket": [("s3", "HeadBucket", 403, ("403", "Forbidden")), *READY],
    "no bucket yet": [("s3", "HeadBucket", 404, ("404", "Not Found")), *READY],
    "a bucket elsewhere": [ELSEWHERE, *READY],
    "no quota": [quotas(m5_large=4, m5_xlarge=4, g4dn_xlarge=0), *READY],
    "no image": [("ecr", "BatchGetImage", 400, NO_REPOSITORY), *READY],
    "an image without its tag": [
        ("ecr", "BatchGetImage", 200, {"images": [], "failures": []}), *READY,
    ],
}  # fmt: skip
