"""IAM's roles: the one that everybody here has assumed, and those that a client makes."""

from __future__ import annotations

import json
import re
import secrets
import string
import time
from urllib.parse import quote

from local_cloud.amazon.account import ACCOUNT, ROLE, ROLE_ARN, ROLE_ID
from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.protocols.query_protocol import Form
from local_cloud.http.whole_numbers import whole
from local_cloud.json_types import Json
from local_cloud.store.records import Records

KIND = "iam-role"
NAME = re.compile(r"[\w+=,.@-]{1,64}", re.ASCII)
PATH = re.compile(r"/|/[!-~]+/")
MANAGED = "arn:aws:iam::aws:policy/"  # policies that Amazon manages
EVERYTHING = f"{MANAGED}AdministratorAccess"  # what everybody here may do
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


class Roles:
    """Roles by name. A role forbids and allows nothing: its policies are kept and listed."""

    def __init__(self, records: Records) -> None:
        """Keep the roles that clients make in these records."""
        self._records = records

    def create(self, form: Form) -> Json:
        """CreateRole."""
        for field in ("PermissionsBoundary", "Tags.member.1.Key"):
            if form.get(field):
                raise not_implemented(f"IAM CreateRole {field.partition('.')[0]}")
        name, path = require(form, "RoleName"), form.get("Path", "/")
        trust = require(form, "AssumeRolePolicyDocument")
        seconds = whole(form.get("MaxSessionDuration", "3600"))
        if seconds is None or not 3600 <= seconds <= 43200:
            raise ServiceError(
                "ValidationError",
                "1 validation error detected: Value at 'maxSessionDuration' failed to satisfy"
                " constraint: Member must have value between 3600 and 43200",
            )
        _check("roleName", name, NAME)
        _check("path", path, PATH)
        if not _is_policy(trust):
            raise ServiceError("MalformedPolicyDocument", "Syntax errors in policy.")
        if self._find(name):
            raise ServiceError("EntityAlreadyExists", f"Role with name {name} already exists.", 409)
        role: Json = {
            "Path": path,
            "RoleName": name,
            "RoleId": _role_id(),
            "Arn": f"arn:aws:iam::{ACCOUNT}:role{path}{name}",
            "CreateDate": time.time(),
            "AssumeRolePolicyDocument": quote(trust),
            "MaxSessionDuration": seconds,
        }
        if description := form.get("Description"):
            role["Description"] = description
        self._records.put(KIND, name, {"role": role, "policies": []})
        return {"Role": role}

    def get(self, form: Form) -> Json:
        """GetRole."""
        return {"Role": self._get(form)["role"]}

    def list(self, form: Form) -> Json:
        """ListRoles, which fit on any page."""
        prefix = form.get("PathPrefix", "/")
        every = [THE_ROLE, *(document["role"] for _, document in self._records.list(KIND))]
        roles = [role for role in every if role["Path"].startswith(prefix)]
        return {"Roles": sorted(roles, key=lambda role: role["RoleName"]), "IsTruncated": False}

    def delete(self, form: Form) -> Json:
        """DeleteRole, which has no policy any more."""
        document = self._changeable(form)
        if document["policies"]:
            message = "Cannot delete entity, must detach all policies first."
            raise ServiceError("DeleteConflict", message, 409)
        self._records.delete(KIND, form["RoleName"])
        return {}

    def attach(self, form: Form) -> Json:
        """AttachRolePolicy: one that Amazon manages."""
        document, policy = self._changeable(form), require(form, "PolicyArn")
        if not policy.startswith(MANAGED):
            message = f"Policy {policy} does not exist or is not attachable."
            raise ServiceError("NoSuchEntity", message, 404)
        if policy not in document["policies"]:
            policies = [*document["policies"], policy]
            self._records.put(KIND, form["RoleName"], document | {"policies": policies})
        return {}

    def detach(self, form: Form) -> Json:
        """DetachRolePolicy."""
        document, policy = self._changeable(form), require(form, "PolicyArn")
        if policy not in document["policies"]:
            raise ServiceError("NoSuchEntity", f"Policy {policy} was not found.", 404)
        policies = [each for each in document["policies"] if each != policy]
        self._records.put(KIND, form["RoleName"], document | {"policies": policies})
        return {}

    def list_attached(self, form: Form) -> Json:
        """ListAttachedRolePolicies, which fit on any page."""
        prefix = form.get("PathPrefix", "/")
        attached = [
            {"PolicyName": arn.rpartition("/")[2], "PolicyArn": arn}
            for arn in self._get(form)["policies"]
            if arn.removeprefix(MANAGED[:-1]).startswith(prefix)
        ]
        return {"AttachedPolicies": attached, "IsTruncated": False}

    def list_inline(self, form: Form) -> Json:
        """ListRolePolicies: no role here has a policy of its own."""
        self._get(form)
        return {"PolicyNames": [], "IsTruncated": False}

    def by_arn(self, arn: str) -> Json:
        """Return a role's document by its ARN."""
        document = self._find(arn.rpartition("/")[2])
        if not document or document["role"]["Arn"] != arn:
            raise no_role(arn.rpartition("/")[2])
        return document

    def _find(self, name: str) -> Json | None:
        if name == ROLE:
            return {"role": THE_ROLE, "policies": [EVERYTHING]}
        return self._records.get(KIND, name)

    def _get(self, form: Form) -> Json:
        name = require(form, "RoleName")
        document = self._find(name)
        if document is None:
            raise no_role(name)
        return document

    def _changeable(self, form: Form) -> Json:
        document = self._get(form)
        if form["RoleName"] == ROLE:
            message = f"The role {ROLE} is part of the local cloud and cannot be changed."
            raise ServiceError("UnmodifiableEntity", message)
        return document


def require(form: Form, name: str) -> str:
    """Return a parameter that must be there."""
    if not form.get(name):
        own = name[:1].lower() + name[1:]
        raise ServiceError(
            "ValidationError",
            f"1 validation error detected: Value null at '{own}' failed to satisfy constraint: "
            "Member must not be null",
        )
    return form[name]


def no_role(name: str) -> ServiceError:
    """Return the error of a role that is not there."""
    return ServiceError("NoSuchEntity", f"The role with name {name} cannot be found.", 404)


def _check(field: str, value: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(value):
        raise ServiceError(
            "ValidationError",
            f"1 validation error detected: Value '{value}' at '{field}' failed to satisfy"
            f" constraint: Member must satisfy regular expression pattern: {pattern.pattern}",
        )


def _is_policy(text: str) -> bool:
    """Return whether a text is JSON with the statements of a policy."""
    try:
        policy = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(policy, dict) and bool(policy.get("Statement"))


def _role_id() -> str:
    letters = string.ascii_uppercase + string.digits
    return "AROA" + "".join(secrets.choice(letters) for _ in range(17))
