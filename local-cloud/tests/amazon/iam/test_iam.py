"""One account with one role, as boto3 and the SageMaker SDK see it."""

from __future__ import annotations

import json

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local_cloud.amazon.account import ACCOUNT, ROLE, ROLE_ARN
from local_cloud.client.environment import REGION

pytestmark = pytest.mark.usefixtures("cloud")


def test_the_caller_has_assumed_the_role() -> None:
    caller = boto3.client("sts").get_caller_identity()
    assert caller["Account"] == ACCOUNT == "000000000000"
    assert caller["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/{ROLE}/SageMaker"
    assert boto3.Session().region_name == REGION


def test_an_explicit_sts_host_comes_home() -> None:
    """The SageMaker SDK names the host itself, in each region's form."""
    for host in ("sts.amazonaws.com", "sts.us-west-2.amazonaws.com"):
        client = boto3.client("sts", endpoint_url=f"https://{host}", region_name="us-west-2")
        assert client.get_caller_identity()["Account"] == ACCOUNT


def test_sagemaker_may_assume_the_role() -> None:
    role = boto3.client("iam").get_role(RoleName=ROLE)["Role"]
    assert role["Arn"] == ROLE_ARN
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement == {
        "Effect": "Allow",
        "Principal": {"Service": "sagemaker.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }


def test_there_is_no_other_role() -> None:
    client = boto3.client("iam")
    (role,) = client.list_roles()["Roles"]
    assert role == client.get_role(RoleName=ROLE)["Role"]
    assert client.list_roles(PathPrefix="/service-role/")["Roles"] == []
    with pytest.raises(client.exceptions.NoSuchEntityException) as caught:
        client.get_role(RoleName="Admin")
    assert caught.value.response["Error"]["Message"] == "The role with name Admin cannot be found."
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_the_role_may_do_everything() -> None:
    client = boto3.client("iam")
    actions = ["s3:PutObject", "sagemaker:CreateTrainingJob"]
    pages = client.get_paginator("simulate_principal_policy").paginate(
        PolicySourceArn=ROLE_ARN, ActionNames=actions
    )
    results = [result for page in pages for result in page["EvaluationResults"]]
    assert [result["EvalActionName"] for result in results] == actions
    assert {result["EvalDecision"] for result in results} == {"allowed"}
    on_two = client.simulate_principal_policy(
        PolicySourceArn=ROLE_ARN,
        ActionNames=actions,
        ResourceArns=["arn:aws:s3:::a", "arn:aws:s3:::b"],
    )
    assert len(on_two["EvaluationResults"]) == 4


def test_what_cannot_be_simulated_is_said() -> None:
    client = boto3.client("iam")
    other = "arn:aws:iam::123456789012:role/theirs/Admin"
    with pytest.raises(client.exceptions.NoSuchEntityException, match="Admin cannot be found"):
        client.simulate_principal_policy(PolicySourceArn=other, ActionNames=["s3:PutObject"])
    with pytest.raises(ClientError, match=r"not implemented.*SimulatePrincipalPolicy MaxItems"):
        client.simulate_principal_policy(
            PolicySourceArn=ROLE_ARN, ActionNames=["s3:PutObject"], MaxItems=1
        )


TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "sagemaker.amazonaws.com"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
)
FULL_ACCESS = "arn:aws:iam::aws:policy/AmazonSageMakerFullAccess"


def test_a_role_is_made_with_a_policy_and_removed() -> None:
    """As notebooks do it that bring their own role."""
    client, name = boto3.client("iam"), "my-execution-role"
    made = client.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST, Description="mine")
    role = made["Role"]
    assert role["Arn"] == f"arn:aws:iam::{ACCOUNT}:role/{name}"
    assert role["RoleId"].startswith("AROA") and role["MaxSessionDuration"] == 3600
    assert role["AssumeRolePolicyDocument"] == json.loads(TRUST)
    assert client.get_role(RoleName=name)["Role"] == role
    with pytest.raises(client.exceptions.EntityAlreadyExistsException, match="already exists"):
        client.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)
    client.attach_role_policy(RoleName=name, PolicyArn=FULL_ACCESS)
    attached = client.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
    assert attached == [{"PolicyName": "AmazonSageMakerFullAccess", "PolicyArn": FULL_ACCESS}]
    simulated = client.simulate_principal_policy(
        PolicySourceArn=role["Arn"], ActionNames=["s3:PutObject"]
    )
    assert simulated["EvaluationResults"][0]["EvalDecision"] == "allowed"
    with pytest.raises(client.exceptions.DeleteConflictException, match="detach all policies"):
        client.delete_role(RoleName=name)
    client.detach_role_policy(RoleName=name, PolicyArn=FULL_ACCESS)
    client.delete_role(RoleName=name)
    with pytest.raises(client.exceptions.NoSuchEntityException):
        client.get_role(RoleName=name)


def test_the_one_role_has_the_policy_of_what_it_may_do() -> None:
    client = boto3.client("iam")
    (policy,) = client.list_attached_role_policies(RoleName=ROLE)["AttachedPolicies"]
    assert policy["PolicyName"] == "AdministratorAccess"
    with pytest.raises(ClientError, match="cannot be changed"):
        client.delete_role(RoleName=ROLE)


def test_a_role_that_cannot_be_is_refused() -> None:
    client = boto3.client("iam")
    with pytest.raises(client.exceptions.MalformedPolicyDocumentException, match="Syntax errors"):
        client.create_role(RoleName="other", AssumeRolePolicyDocument="{}")
    with pytest.raises(ClientError, match="Value 'a b' at 'roleName' failed to satisfy"):
        client.create_role(RoleName="a b", AssumeRolePolicyDocument=TRUST)


def test_a_missing_parameter_is_named() -> None:
    client = boto3.client("iam", config=Config(parameter_validation=False))
    with pytest.raises(ClientError, match="Value null at 'roleName' failed to satisfy"):
        client.get_role()


def test_a_call_that_is_missing_says_so_by_name() -> None:
    with pytest.raises(ClientError, match="not implemented in the local cloud: IAM CreateUser"):
        boto3.client("iam").create_user(UserName="me")
    with pytest.raises(ClientError, match="not implemented in the local cloud: STS AssumeRole"):
        boto3.client("sts").assume_role(RoleArn=ROLE_ARN, RoleSessionName="me")


def test_the_sagemaker_sdk_finds_the_role_and_accepts_it() -> None:
    from sagemaker.core.helper.iam_role_resolver import (
        RoleValidationError,
        resolve_and_validate_role,
    )
    from sagemaker.core.helper.session_helper import get_execution_role

    assert get_execution_role() == ROLE_ARN
    assert resolve_and_validate_role() == ROLE_ARN
    assert resolve_and_validate_role(ROLE) == ROLE_ARN
    with pytest.raises(RoleValidationError, match="123456789012"):
        resolve_and_validate_role("arn:aws:iam::123456789012:role/Admin")
