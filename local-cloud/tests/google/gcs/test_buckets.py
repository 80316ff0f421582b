"""Buckets, by the client's own calls."""

from __future__ import annotations

import pytest
from google.api_core.exceptions import (
    BadRequest,
    Conflict,
    MethodNotImplemented,
    NotFound,
    PreconditionFailed,
)
from google.cloud import storage

from local_cloud.google.gcs.buckets import check_name
from local_cloud.google.gcs.errors import Refusal


def test_a_bucket_is_made_found_and_deleted(client: storage.Client) -> None:
    made = client.create_bucket("my-bucket", location="europe-west4")
    assert (made.location, made.location_type) == ("EUROPE-WEST4", "region")
    assert client.bucket("my-bucket").exists()
    assert client.get_bucket("my-bucket").project_number == made.project_number > 10**11
    assert client.lookup_bucket("my-bucket").time_created == made.time_created
    assert made.self_link.startswith(client._connection.API_BASE_URL + "/storage/v1/b/")
    made.delete()
    assert client.lookup_bucket("my-bucket") is None


def test_the_default_place_is_the_service_s(bucket: storage.Bucket) -> None:
    assert (bucket.location, bucket.location_type) == ("US", "multi-region")
    assert bucket.storage_class == "STANDARD"
    assert not bucket.versioning_enabled


def test_buckets_are_listed_by_project_in_pages(client: storage.Client) -> None:
    for name in ("ccc", "aaa", "bbb"):
        client.create_bucket(name)
    other = client.create_bucket("other", project="another-project")
    assert [bucket.name for bucket in client.list_buckets(page_size=2)] == ["aaa", "bbb", "ccc"]
    assert [bucket.name for bucket in client.list_buckets(prefix="b")] == ["bbb"]
    assert [bucket.name for bucket in client.list_buckets(project="another-project")] == ["other"]
    other.delete()


def test_labels_are_merged_and_removed(client: storage.Client, bucket: storage.Bucket) -> None:
    bucket.labels = {"team": "a", "stage": "test"}
    bucket.patch()
    bucket = client.get_bucket("bucket")
    bucket.labels = {"team": "b"}  # the client sends null for what is left out
    bucket.patch()
    assert client.get_bucket("bucket").labels == {"team": "b"}
    assert bucket.metageneration == 3
    with pytest.raises(PreconditionFailed):
        bucket.patch(if_metageneration_match=1)


def test_an_update_sets_all_but_the_place(client: storage.Client) -> None:
    bucket = client.create_bucket("bucket", location="eu")
    bucket.labels = {"a": "b"}
    bucket.update()
    bucket = client.get_bucket("bucket")
    assert (bucket.labels, bucket.location) == ({"a": "b"}, "EU")


def test_a_name_is_taken_once(client: storage.Client, bucket: storage.Bucket) -> None:
    with pytest.raises(Conflict, match="already own it") as caught:
        client.create_bucket("bucket")
    assert caught.value.errors[0]["reason"] == "conflict"


def test_a_bucket_with_objects_goes_only_by_force(bucket: storage.Bucket) -> None:
    for name in ("a", "b/c", "b/"):
        bucket.blob(name).upload_from_string("")
    with pytest.raises(Conflict, match="not empty"):
        bucket.delete()
    bucket.delete(force=True)
    with pytest.raises(NotFound, match="The specified bucket does not exist"):
        bucket.reload()


@pytest.mark.parametrize("name", ["abc", "a-b_c1", "my.bucket.example", "0123", "a" * 63])
def test_the_service_s_names_are_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "ab",
        "a" * 64,
        "Upper",
        "-a-",
        "a-",
        "_ab",
        "a..b",
        ".abc",
        "a b",
        "ümlaut",
        "a/b",
        "10.0.0.1",
        "goog-x",
        "my-google",
        "g00gle-x",
        "",
        "..",
        "a.-b",
        "a\0b",
        None,
        3,
    ],
)
def test_what_the_service_calls_no_name_is_refused(name: object) -> None:
    with pytest.raises(Refusal, match="Invalid bucket name"):
        check_name(name)


def test_a_wrong_name_is_the_client_s_mistake(client: storage.Client) -> None:
    with pytest.raises(BadRequest, match="Invalid bucket name: 'Upper'"):
        client.create_bucket("Upper")


def test_what_would_be_a_promise_is_refused(client: storage.Client) -> None:
    bucket = client.bucket("versioned")
    bucket.versioning_enabled = True
    with pytest.raises(MethodNotImplemented, match="not implemented in the local cloud"):
        bucket.create()
    with pytest.raises(MethodNotImplemented, match="predefinedAcl"):
        client.bucket("public").create(predefined_acl="publicRead")
