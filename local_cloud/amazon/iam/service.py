"""AWS IAM and STS: one account, one role, which SageMaker may assume and everybody here has."""

from __future__ import annotations

import json
from urllib.parse import quote

from local_cloud.amazon.account import ACCOUNT, CALLER_ARN, ROLE, ROLE_ARN, ROLE_ID
from local_cloud.amazon.protocols.dispatcher import AmazonService
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.model import Json
from local_cloud.amazon.protocols.query_protocol import Form, QueryService, members
from local_cloud.platform import Platform

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
THE_ROLE: Json = {
    "Path": "/",
    "RoleName": ROLE,
    "RoleId": ROLE_ID,
    "Arn": ROLE_ARN,
    "CreateDate": 1511913600,  # 29 November 2017, when SageMaker was announced
    "AssumeRolePolicyDocument": quote(json.dumps(TRUST)),  # IAM quotes documents
    "MaxSessionDuration": 3600,
}


def service(_: Platform) -> AmazonService:
    """Return both services."""
    sts = QueryService("sts", {"GetCallerIdentity": _get_caller_identity})
    iam = QueryService(
        "iam",
        {
            "GetRole": _get_role,
            "ListRoles": _list_roles,
            "SimulatePrincipalPolicy": _simulate_principal_policy,
        },
    )
    return AmazonService(apis=[sts, iam])


def _get_caller_identity(form: Form) -> Json:
    """Return the role as assumed: `get_execution_role()` finds it so in both SDK generations."""
    return {"UserId": f"{ROLE_ID}:SageMaker", "Account": ACCOUNT, "Arn": CALLER_ARN}


def _get_role(form: Form) -> Json:
    name = _require(form, "RoleName")
    if name != ROLE:
        raise _no_role(name)
    return {"Role": THE_ROLE}


def _list_roles(form: Form) -> Json:
    """List the one role, which fits on any page."""
    prefix = form.get("PathPrefix", "/")
    roles = [THE_ROLE] if THE_ROLE["Path"].startswith(prefix) else []
    return {"Roles": roles, "IsTruncated": False}


def _simulate_principal_policy(form: Form) -> Json:
    """Allow everything, because the local cloud forbids nothing."""
    source = _require(form, "PolicySourceArn")
    if source != ROLE_ARN:
        raise _no_role(source.rpartition("/")[2])
    for part in ("Marker", "MaxItems", "PolicyInputList.member.1"):
        if part in form:
            raise not_implemented(f"IAM SimulatePrincipalPolicy {part.partition('.')[0]}")
    results = [
        {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": "allowed"}
        for action in members(form, "ActionNames")
        for resource in members(form, "ResourceArns") or ["*"]
    ]
    return {"EvaluationResults": results, "IsTruncated": False}


def _require(form: Form, name: str) -> str:
    """Return a parameter that must be there."""
    if not form.get(name):
        own = name[:1].lower() + name[1:]
        raise ServiceError(
            "ValidationError",
            f"1 validation error detected: Value null at '{own}' failed to satisfy constraint: "
            "Member must not be null",
        )
    return form[name]


def _no_role(name: str) -> ServiceError:
    return ServiceError("NoSuchEntity", f"The role with name {name} cannot be found.", 404)
