"""Buckets' IAM policies: get, set, and test permissions; and the project's service account.

A policy is kept and told, and nothing is forbidden by it. Rules and errors: the pages
storage/docs/json_api/v1/buckets/setIamPolicy and storage/docs/access-control/iam of Google's
documentation, and what the system tests of google-cloud-storage say they met (read 2026-11).
"""

from __future__ import annotations

import re

from starlette.responses import JSONResponse, Response

from local_cloud.google.gcs.call import Call
from local_cloud.google.gcs.errors import Refusal, invalid
from local_cloud.google.gcs.resources import bucket_etag
from local_cloud.google.projects import project_number
from local_cloud.google.rest import inner, inners
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects
from local_cloud.store.values import Attributes, Bucket

WITH_CONDITIONS = 3  # the policy version from which a binding may have a condition
VERSIONS = (0, 1, WITH_CONDITIONS)
_ROLE = re.compile(r"((projects|organizations)/[^/]+/)?roles/[A-Za-z0-9_.]+")
_MEMBER = re.compile(
    r"allUsers|allAuthenticatedUsers|(deleted:)?[a-zA-Z]+:\S+|principal(Set)?://\S+"
)
_PERMISSION = re.compile(r"storage\.[a-zA-Z]+\.[a-zA-Z]+")


class Policies:
    """Handlers of a bucket's policy."""

    def __init__(self, objects: Objects) -> None:
        """Serve the buckets of this store."""
        self._objects = objects

    def get(self, call: Call) -> Response:
        """GET /b/{bucket}/iam"""
        bucket = self._objects.bucket(call.path("bucket"))
        requested = call.whole("optionsRequestedPolicyVersion")
        if requested is not None and requested < 1:
            raise invalid("optionsRequestedPolicyVersion must be 1 or greater")
        policy = _policy(bucket)
        if (requested or 1) < policy["version"]:
            raise invalid(
                f"The policy has conditions: optionsRequestedPolicyVersion must be at least"
                f" {WITH_CONDITIONS}"
            )
        return JSONResponse(policy)

    def set(self, call: Call) -> Response:
        """PUT /b/{bucket}/iam"""
        bindings = [_check(each) for each in inners(call.body, "bindings")]
        bindings = [each for each in bindings if each["members"]]
        version, etag = call.body.get("version", 0), call.body.get("etag")
        if version not in VERSIONS or isinstance(version, bool):
            raise invalid(f"Invalid policy version: {version!r}")
        conditions = any("condition" in each for each in bindings)
        if conditions and version < WITH_CONDITIONS:
            raise invalid(f"A policy with conditions needs a version of at least {WITH_CONDITIONS}")

        def change(old: Bucket) -> Attributes:
            if etag and etag != bucket_etag(old):
                message = "At least one of the pre-conditions you specified did not hold."
                raise Refusal(412, "conditionNotMet", message)
            if conditions and not _is_uniform(old):
                message = "To set conditions on a policy, enable uniform bucket-level access."
                raise Refusal(412, "conditionNotMet", message)
            policy = {"bindings": bindings, "version": WITH_CONDITIONS if conditions else 1}
            return old.attributes | {"policy": policy}

        return JSONResponse(_policy(self._objects.update_bucket(call.path("bucket"), change)))

    def test(self, call: Call) -> Response:
        """GET /b/{bucket}/iam/testPermissions: whoever knows the secret may do everything."""
        self._objects.bucket(call.path("bucket"))
        permissions = call.query.getlist("permissions")
        if not permissions:
            raise Refusal(400, "required", "Required parameter: permissions")
        for permission in permissions:
            if not _PERMISSION.fullmatch(permission):
                raise invalid(f"Invalid permission: {permission}")
        answer = {"kind": "storage#testIamPermissionsResponse", "permissions": permissions}
        return JSONResponse(answer)


def service_account(call: Call) -> Response:
    """GET /projects/{project}/serviceAccount: in whose name the service itself acts."""
    number = project_number(call.path("project"))
    email = f"service-{number}@gs-project-accounts.iam.gserviceaccount.com"
    return JSONResponse({"kind": "storage#serviceAccount", "email_address": email})


def _policy(bucket: Bucket) -> Json:
    """Return a bucket's policy as the service tells it.

    A new bucket's is that of its project's people.
    """
    project = bucket.attributes.get("project", "")
    new = {
        "version": 1,
        "bindings": [
            {
                "role": "roles/storage.legacyBucketOwner",
                "members": [f"projectEditor:{project}", f"projectOwner:{project}"],
            },
            {
                "role": "roles/storage.legacyBucketReader",
                "members": [f"projectViewer:{project}"],
            },
        ],
    }
    return {
        "kind": "storage#policy",
        "resourceId": f"projects/_/buckets/{bucket.name}",
        **bucket.attributes.get("policy", new),
        "etag": bucket_etag(bucket),
    }


def _is_uniform(bucket: Bucket) -> bool:
    configuration = inner(bucket.attributes.get("settings", {}), "iamConfiguration")
    names = ("uniformBucketLevelAccess", "bucketPolicyOnly")
    return any(inner(configuration, name).get("enabled") is True for name in names)


def _check(binding: Json) -> Json:
    """Return a binding of a policy that is to be set.

    Raise Refusal for one that says nothing sensible.
    """
    role, members = binding.get("role"), binding.get("members") or []
    if not isinstance(role, str) or not _ROLE.fullmatch(role):
        raise invalid(f"Invalid role: {role!r}")
    if not isinstance(members, list):
        raise invalid("Invalid value for members: a list is needed")
    for member in members:
        if not isinstance(member, str) or not _MEMBER.fullmatch(member):
            raise invalid(f"Invalid member: {member!r}")
    kept: Json = {"role": role, "members": members}
    condition = binding.get("condition")
    if condition is None:
        return kept
    if not isinstance(condition, dict) or not isinstance(condition.get("expression"), str):
        raise invalid("Invalid value for condition: an expression is needed")
    return kept | {"condition": condition}
