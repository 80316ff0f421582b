"""AWS IAM and STS: one account, and a role which SageMaker may assume and everybody here has."""

from __future__ import annotations

from local_cloud.amazon.account import ACCOUNT, CALLER_ARN, ROLE_ID
from local_cloud.amazon.iam.roles import Roles, require
from local_cloud.amazon.protocols.dispatcher import AmazonService
from local_cloud.amazon.protocols.errors import not_implemented
from local_cloud.amazon.protocols.query_protocol import Form, QueryService, members
from local_cloud.json_types import Json
from local_cloud.platform import Platform


def service(platform: Platform) -> AmazonService:
    """Return both services."""
    roles = Roles(platform.records)
    sts = QueryService("sts", {"GetCallerIdentity": _get_caller_identity})
    iam = QueryService(
        "iam",
        {
            "CreateRole": roles.create,
            "GetRole": roles.get,
            "ListRoles": roles.list,
            "DeleteRole": roles.delete,
            "AttachRolePolicy": roles.attach,
            "DetachRolePolicy": roles.detach,
            "ListAttachedRolePolicies": roles.list_attached,
            "ListRolePolicies": roles.list_inline,
            "SimulatePrincipalPolicy": lambda form: _simulate_principal_policy(form, roles),
        },
    )
    return AmazonService(apis=[sts, iam])


def _get_caller_identity(form: Form) -> Json:
    """Return the role as assumed: `get_execution_role()` finds it so in both SDK generations."""
    return {"UserId": f"{ROLE_ID}:SageMaker", "Account": ACCOUNT, "Arn": CALLER_ARN}


def _simulate_principal_policy(form: Form, roles: Roles) -> Json:
    """Allow everything, because the local cloud forbids nothing."""
    roles.by_arn(require(form, "PolicySourceArn"))
    for part in ("Marker", "MaxItems", "PolicyInputList.member.1"):
        if part in form:
            raise not_implemented(f"IAM SimulatePrincipalPolicy {part.partition('.')[0]}")
    results = [
        {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": "allowed"}
        for action in members(form, "ActionNames")
        for resource in members(form, "ResourceArns") or ["*"]
    ]
    return {"EvaluationResults": results, "IsTruncated": False}
