"""Buckets' IAM policies, by the client's own calls."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, NotFound, PreconditionFailed
from google.cloud import storage

from tests.google.gcs.support import Server

VIEWER, OWNER = "roles/storage.objectViewer", "roles/storage.legacyBucketOwner"
MEMBER = "serviceAccount:trainer@my-project.iam.gserviceaccount.com"
CONDITIONAL: dict[str, Any] = {
    "role": VIEWER,
    "members": {MEMBER},
    "condition": {"title": "always", "expression": "true"},
}


def test_a_new_bucket_is_its_project_s(bucket: storage.Bucket) -> None:
    policy = bucket.get_iam_policy()
    assert policy.version == 1
    assert policy[OWNER] == {"projectEditor:p", "projectOwner:p"}


def test_a_role_is_given_and_taken_away(client: storage.Client, bucket: storage.Bucket) -> None:
    """As the helpers of google-cloud-aiplatform do it."""
    policy = bucket.get_iam_policy()
    policy.setdefault(VIEWER, set()).add(MEMBER)
    assert bucket.set_iam_policy(policy)[VIEWER] == {MEMBER}
    iam_policy = client.bucket("bucket").get_iam_policy()
    assert iam_policy[VIEWER] == {MEMBER}
    assert OWNER in iam_policy
    iam_policy[VIEWER].clear()
    bucket.set_iam_policy(iam_policy)
    assert VIEWER not in list(bucket.get_iam_policy())


def test_settings_of_the_bucket_leave_the_policy_alone(bucket: storage.Bucket) -> None:
    policy = bucket.get_iam_policy()
    policy[VIEWER] = {MEMBER}
    bucket.set_iam_policy(policy)
    bucket.labels = {"team": "a"}
    bucket.patch()
    bucket.update()
    assert bucket.get_iam_policy()[VIEWER] == {MEMBER}


def test_what_another_has_changed_is_not_overwritten(bucket: storage.Bucket) -> None:
    mine, other = bucket.get_iam_policy(), bucket.get_iam_policy()
    other[VIEWER] = {MEMBER}
    bucket.set_iam_policy(other)
    mine[VIEWER] = {"allUsers"}
    with pytest.raises(PreconditionFailed):
        bucket.set_iam_policy(mine)
    mine.etag = None  # whatever is there
    assert bucket.set_iam_policy(mine)[VIEWER] == {"allUsers"}


def test_conditions_ask_for_uniform_access_and_for_version_3(bucket: storage.Bucket) -> None:
    policy = bucket.get_iam_policy(requested_policy_version=3)
    policy.bindings.append(CONDITIONAL)
    policy.version = 3
    with pytest.raises(PreconditionFailed, match="enable uniform bucket-level access"):
        bucket.set_iam_policy(policy)
    bucket.iam_configuration.uniform_bucket_level_access_enabled = True
    bucket.patch()
    policy = bucket.get_iam_policy(requested_policy_version=3)
    policy.bindings.append(CONDITIONAL)
    with pytest.raises(BadRequest, match="at least 3"):
        bucket.set_iam_policy(policy)
    policy.version = 3
    assert bucket.set_iam_policy(policy).version == 3
    assert bucket.get_iam_policy(requested_policy_version=3).bindings[-1] == CONDITIONAL
    with pytest.raises(BadRequest, match="at least 3"):
        bucket.get_iam_policy()


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2},
        {"version": "3"},
        {"bindings": [{"role": "owner", "members": [MEMBER]}]},
        {"bindings": [{"role": VIEWER, "members": ["somebody"]}]},
        {"bindings": [{"role": VIEWER, "members": MEMBER}]},
        {"bindings": [{"role": VIEWER, "members": [MEMBER], "condition": {}}], "version": 3},
        {"bindings": "all"},
    ],
)
def test_a_policy_that_says_nothing_sensible_is_refused(
    client: storage.Client, bucket: storage.Bucket, wrong: dict[str, Any]
) -> None:
    with pytest.raises(BadRequest):
        client._put_resource(f"{bucket.path}/iam", wrong)


def test_permissions_are_tested(client: storage.Client, bucket: storage.Bucket) -> None:
    wanted = ["storage.buckets.get", "storage.objects.create"]
    assert bucket.test_iam_permissions(wanted) == wanted
    with pytest.raises(BadRequest):
        bucket.test_iam_permissions(["compute.instances.get"])
    with pytest.raises(BadRequest):
        bucket.test_iam_permissions([])
    with pytest.raises(NotFound):
        client.bucket("no-such-bucket").test_iam_permissions(wanted)


def test_a_policy_is_on_record(server: Server, bucket: storage.Bucket) -> None:
    policy = bucket.get_iam_policy()
    policy[VIEWER] = {MEMBER}
    etag = bucket.set_iam_policy(policy).etag
    server.__exit__()
    server.__enter__()
    assert (bucket.get_iam_policy().etag, bucket.get_iam_policy()[VIEWER]) == (etag, {MEMBER})
    bucket.delete()
    bucket.create()
    assert VIEWER not in list(bucket.get_iam_policy())


def test_the_service_s_own_account_is_named_by_the_project_s_number(
    client: storage.Client, bucket: storage.Bucket
) -> None:
    email = client.get_service_account_email()
    assert email == f"service-{bucket.project_number}@gs-project-accounts.iam.gserviceaccount.com"


def test_a_bucket_s_default_acl_may_be_named(client: storage.Client) -> None:
    """fsspec's file system does so: with it the project's people may enter, as without it."""
    client.create_bucket(
        "named", predefined_acl="projectPrivate",
        predefined_default_object_acl="bucketOwnerFullControl",
    )  # fmt: skip
