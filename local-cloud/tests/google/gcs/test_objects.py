"""Objects, by the client's own calls."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
from pathlib import Path

import pytest
from google.api_core.exceptions import (
    BadRequest,
    MethodNotImplemented,
    NotFound,
    NotModified,
    PreconditionFailed,
    RequestRangeNotSatisfiable,
)
from google.cloud import storage
from google.cloud.storage import transfer_manager

from local_cloud.google import rest
from tests.google.gcs.support import Server

NAMES = [
    "plain",
    "data/train.npz",
    "a b+c&d=e?f#g%2Fh",
    "é/漢字/😀",
    "a//b",
    "folder/",
    "/top",
    "2026-11-20-09:00:00.123",
    "../up",
    "x" * 1024,
    "a/./b",
    ".hidden",
    "~/x",
    "%",
    "a\\b",
]


# Up and down


@pytest.mark.parametrize("name", NAMES)
def test_any_name_goes_up_and_down(bucket: storage.Bucket, name: str) -> None:
    blob = bucket.blob(name)
    assert not blob.exists()
    blob.upload_from_string(name)
    assert bucket.get_blob(name).name == name
    assert [each.name for each in bucket.list_blobs()] == [name]
    assert bucket.blob(name).download_as_text() == name
    blob.reload()
    assert blob.download_as_text() == name  # by its media link
    bucket.copy_blob(blob, bucket, name[:-1] + "!")
    blob.delete()
    assert [each.name for each in bucket.list_blobs()] == [name[:-1] + "!"]


def test_an_upload_says_what_was_stored(bucket: storage.Bucket) -> None:
    blob = bucket.blob("note.txt")
    blob.metadata = {"who": "é"}
    blob.cache_control = "no-store"
    blob.upload_from_string("text", content_type="text/plain")
    assert blob.md5_hash == base64.b64encode(hashlib.md5(b"text").digest()).decode()
    assert (blob.size, blob.content_type, blob.metageneration) == (4, "text/plain", 1)
    stored = bucket.get_blob("note.txt")
    assert (stored.metadata, stored.cache_control) == ({"who": "é"}, "no-store")
    assert (stored.generation, stored.etag, stored.crc32c) == (
        blob.generation,
        blob.etag,
        blob.crc32c,
    )
    assert stored.time_created == stored.updated
    assert stored.id == f"bucket/note.txt/{stored.generation}"
    assert stored.storage_class == "STANDARD"


@pytest.mark.parametrize("size", [0, 1, 100_000, 9 << 20])  # above 8 MiB the client resumes
def test_files_of_any_size(bucket: storage.Bucket, tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    there, back = tmp_path / "there", tmp_path / "back"
    there.write_bytes(content)
    bucket.blob("file").upload_from_filename(there)
    for checksum in ("md5", "crc32c"):
        bucket.blob("file").download_to_filename(back, checksum=checksum)
        assert back.read_bytes() == content


def test_bytes_that_look_like_a_boundary(bucket: storage.Bucket) -> None:
    content = b"--\r\n--=\r\n\r\n" * 10_000 + b"\r\n--==============="
    bucket.blob("x").upload_from_string(content)
    assert bucket.blob("x").download_as_bytes() == content


def test_a_download_tells_of_the_object(bucket: storage.Bucket) -> None:
    bucket.blob("a.csv").upload_from_string("1,2", content_type="text/csv")
    blob = bucket.blob("a.csv")
    blob.download_as_bytes()
    assert (blob.content_type, blob.storage_class) == ("text/csv", "STANDARD")
    assert blob.generation == bucket.get_blob("a.csv").generation


@pytest.mark.parametrize(
    ("start", "end"), [(0, 0), (3, 5), (3, None), (None, 4), (9, 100), (-3, None), (-100, None)]
)
def test_a_range_is_what_slicing_gives(
    bucket: storage.Bucket, start: int | None, end: int | None
) -> None:
    content = b"0123456789"
    bucket.blob("digits").upload_from_string(content)
    expected = content[start : None if end is None else end + 1]
    assert bucket.blob("digits").download_as_bytes(start=start, end=end) == expected


def test_a_range_behind_the_end_is_refused(bucket: storage.Bucket) -> None:
    for content in (b"", b"0123456789"):
        bucket.blob("digits").upload_from_string(content)
        with pytest.raises(RequestRangeNotSatisfiable):
            bucket.blob("digits").download_as_bytes(start=10)


def test_gzip_is_undone_by_the_client(bucket: storage.Bucket) -> None:
    blob = bucket.blob("log")
    blob.content_encoding = "gzip"
    blob.upload_from_string(gzip.compress(b"text" * 1000), content_type="text/plain")
    assert bucket.blob("log").download_as_bytes() == b"text" * 1000
    assert (
        gzip.decompress(bucket.blob("log").download_as_bytes(raw_download=True)) == b"text" * 1000
    )


def test_reading_and_writing_like_a_file(bucket: storage.Bucket) -> None:
    with bucket.blob("lines").open("w", chunk_size=256 * 1024) as file:
        for number in range(100_000):
            file.write(f"{number}\n")
    with bucket.blob("lines").open("r", chunk_size=100_000) as file:
        assert [int(line) for line in file] == list(range(100_000))
    with bucket.blob("lines").open("rb") as file:
        file.seek(-6, io.SEEK_END)
        assert file.read() == b"99999\n"
    with bucket.blob("nothing").open("w"):
        pass
    assert bucket.blob("nothing").download_as_bytes() == b""


def test_many_files_at_once(bucket: storage.Bucket, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}").write_text(str(number) * 1000)
    names = [str(number) for number in range(20)]
    threads = {"worker_type": transfer_manager.THREAD, "max_workers": 4}
    transfer_manager.upload_many_from_filenames(
        bucket, names, source_directory=str(tmp_path), raise_exception=True, **threads
    )
    back = tmp_path / "back"
    transfer_manager.download_many_to_path(
        bucket, names, destination_directory=str(back), raise_exception=True, **threads
    )
    assert all((back / name).read_text() == name * 1000 for name in names)
    transfer_manager.download_chunks_concurrently(
        bucket.blob("7"), back / "chunks", chunk_size=300, **threads
    )
    assert (back / "chunks").read_text() == "7" * 1000


def test_what_a_job_writes_is_an_object(bucket: storage.Bucket, server: Server) -> None:
    folder = server.buckets / "bucket/model"
    folder.mkdir()
    (folder / "metrics.json").write_text("{}")
    (blob,) = bucket.list_blobs(prefix="model/")
    assert (blob.name, blob.content_type) == ("model/metrics.json", "application/json")
    assert blob.download_as_text() == "{}"


def test_what_is_not_there_is_not_found(client: storage.Client, bucket: storage.Bucket) -> None:
    blob = bucket.blob("a/b")
    with pytest.raises(NotFound, match="No such object: bucket/a/b"):
        blob.reload()
    with pytest.raises(NotFound, match="No such object: bucket/a/b"):
        blob.download_as_bytes()
    with pytest.raises(NotFound):
        blob.delete()
    assert bucket.get_blob("a/b") is None
    for content in ("", "x" * (9 << 20)):
        with pytest.raises(NotFound, match="The specified bucket does not exist"):
            client.bucket("none").blob("a").upload_from_string(content)
    with pytest.raises(NotFound):
        list(client.bucket("none").list_blobs())


@pytest.mark.parametrize("name", [".", "..", ".well-known/acme-challenge/x", "a\nb", "x" * 1025])
def test_what_the_service_calls_no_name_is_refused(bucket: storage.Bucket, name: str) -> None:
    with pytest.raises(BadRequest):
        bucket.blob(name).upload_from_string("")
    assert list(bucket.list_blobs()) == []


def test_bytes_that_were_damaged_on_the_way_are_not_stored(bucket: storage.Bucket) -> None:
    blob = bucket.blob("a")
    blob.md5_hash = base64.b64encode(bytes(16)).decode()
    with pytest.raises(BadRequest, match="MD5"):
        blob.upload_from_string("text", checksum=None)
    assert list(bucket.list_blobs()) == []


# Lists


def test_lists_are_narrowed_grouped_and_paged(bucket: storage.Bucket) -> None:
    for name in ["a", "b/", "b/1", "b/2/x", "c/1", "d"]:
        bucket.blob(name).upload_from_string("")

    def listed(**how: object) -> tuple[list[str], list[str]]:
        blobs = bucket.list_blobs(**how)
        return [blob.name for blob in blobs], sorted(blobs.prefixes)

    assert listed(prefix="b/") == (["b/", "b/1", "b/2/x"], [])
    assert listed(delimiter="/") == (["a", "d"], ["b/", "c/"])
    assert listed(delimiter="/", prefix="b/") == (["b/", "b/1"], ["b/2/"])
    assert listed(delimiter="/", include_trailing_delimiter=True) == (
        ["a", "b/", "d"],
        ["b/", "c/"],
    )
    assert listed(start_offset="b/1", end_offset="c/1") == (["b/1", "b/2/x"], [])
    assert listed(max_results=2) == (["a", "b/"], [])
    for size in (1, 2, 3, 4):
        assert listed(page_size=size, delimiter="/") == (["a", "d"], ["b/", "c/"])
        assert listed(page_size=size)[0] == ["a", "b/", "b/1", "b/2/x", "c/1", "d"]


def test_a_page_has_so_many_bytes_at_most(
    bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of objects with much metadata; what was grouped is on the page to which it belongs."""
    monkeypatch.setattr(rest, "PAGE_BYTES", 30_000)
    for name in ["a", "b/1", "c", "d", "e/1", "f", "g"]:
        blob = bucket.blob(name)
        blob.metadata = {"long": "x" * 10_000}
        blob.upload_from_string("")
    pages = bucket.list_blobs(delimiter="/").pages
    assert [([blob.name for blob in page], sorted(page.prefixes)) for page in pages] == [
        (["a", "c"], ["b/"]),
        (["d", "f"], ["e/"]),
        (["g"], []),
    ]


# Changing, copying, composing


def test_metadata_is_patched(bucket: storage.Bucket) -> None:
    blob = bucket.blob("a")
    blob.upload_from_string("x")
    blob.metadata = {"a": "1", "b": "2"}
    blob.content_type = "text/csv"
    blob.patch()
    assert (blob.metageneration, blob.metadata) == (2, {"a": "1", "b": "2"})
    blob.metadata = {"a": None, "c": "3"}
    blob.patch(if_metageneration_match=2)
    stored = bucket.get_blob("a")
    assert (stored.metadata, stored.content_type) == ({"b": "2", "c": "3"}, "text/csv")
    assert stored.updated > stored.time_created
    stored.metadata = {"only": "this"}
    stored.update()
    assert bucket.get_blob("a").metadata == {"only": "this"}
    with pytest.raises(PreconditionFailed):
        blob.patch(if_metageneration_match=1)


def test_a_value_that_no_header_can_carry_is_refused(bucket: storage.Bucket) -> None:
    blob = bucket.blob("a")
    blob.content_disposition = "x\r\nSet-Cookie: y"
    with pytest.raises(BadRequest, match="contentDisposition"):
        blob.upload_from_string("")
    blob.content_disposition = 'inline; filename="é.txt"'
    blob.upload_from_string("x")
    assert blob.download_as_bytes() == b"x"


def test_a_copy_has_the_source_s_metadata_unless_others_are_given(
    client: storage.Client, bucket: storage.Bucket
) -> None:
    source = bucket.blob("a.csv")
    source.metadata = {"k": "v"}
    source.upload_from_string("1,2", content_type="text/csv")
    other = client.create_bucket("other")
    copy = bucket.copy_blob(source, other, "b")
    assert (copy.content_type, copy.metadata, copy.md5_hash) == (
        "text/csv",
        {"k": "v"},
        source.md5_hash,
    )
    target = other.blob("c")
    target.content_type = "text/plain"
    assert target.rewrite(source) == (None, 3, 3)
    assert (target.content_type, target.metadata) == ("text/plain", None)
    assert target.download_as_bytes() == b"1,2"
    with pytest.raises(NotFound):
        target.rewrite(bucket.blob("none"))
    with pytest.raises(PreconditionFailed):
        target.rewrite(source, if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        target.rewrite(source, if_source_generation_match=1)


def test_renaming_is_a_copy_and_a_delete(bucket: storage.Bucket) -> None:
    bucket.blob("a").upload_from_string("x")
    bucket.rename_blob(bucket.blob("a"), "b")
    assert [blob.name for blob in bucket.list_blobs()] == ["b"]


def test_objects_are_composed(bucket: storage.Bucket) -> None:
    sources = [bucket.blob(name) for name in ("a", "b")]
    for blob in sources:
        blob.upload_from_string(blob.name * 3)
    whole = bucket.blob("whole")
    whole.content_type = "text/plain"
    whole.compose(sources)
    assert whole.download_as_bytes() == b"aaabbb"
    stored = bucket.get_blob("whole")
    assert (stored.component_count, stored.md5_hash, stored.content_type) == (2, None, "text/plain")
    whole.compose([whole, sources[0]], if_generation_match=stored.generation)
    assert (whole.component_count, whole.download_as_bytes()) == (3, b"aaabbbaaa")
    with pytest.raises(NotFound):
        whole.compose([bucket.blob("none")])
    with pytest.raises(PreconditionFailed):
        whole.compose(sources, if_source_generation_match=[1, None])
    with pytest.raises(BadRequest, match="between 1 and 32"):
        whole.compose(sources * 17)


# Preconditions and generations


def test_only_the_first_upload_creates(bucket: storage.Bucket) -> None:
    blob = bucket.blob("lock")
    blob.upload_from_string("first", if_generation_match=0)
    for content in ("second", "x" * (9 << 20)):
        with pytest.raises(PreconditionFailed, match="did not hold"):
            bucket.blob("lock").upload_from_string(content, if_generation_match=0)
    assert bucket.blob("lock").download_as_bytes() == b"first"


def test_conditions_on_reading(bucket: storage.Bucket) -> None:
    blob = bucket.blob("a")
    blob.upload_from_string("x")
    live = blob.generation
    assert blob.exists(if_generation_match=live)
    with pytest.raises(PreconditionFailed):
        blob.download_as_bytes(if_generation_match=live + 1)
    with pytest.raises(NotModified):
        blob.reload(if_generation_not_match=live)
    with pytest.raises(NotModified):
        blob.reload(if_metageneration_not_match=1)
    with pytest.raises(NotModified):
        blob.reload(if_etag_not_match=blob.etag)
    with pytest.raises(PreconditionFailed):
        blob.reload(if_etag_match="other")
    blob.reload(if_etag_match=blob.etag)


def test_conditions_on_deleting(bucket: storage.Bucket) -> None:
    blob = bucket.blob("a")
    blob.upload_from_string("x")
    with pytest.raises(PreconditionFailed):
        blob.delete(if_generation_match=1)
    blob.delete(if_generation_match=blob.generation)
    assert not blob.exists()


def test_only_the_live_generation_is_there(bucket: storage.Bucket) -> None:
    blob = bucket.blob("a")
    blob.upload_from_string("old")
    old = blob.generation
    bucket.blob("a").upload_from_string("new")
    assert bucket.get_blob("a").generation > old
    for call in (
        bucket.blob("a", generation=old).download_as_bytes,
        bucket.blob("a", generation=old).reload,
        bucket.blob("a", generation=old).delete,
        blob.download_as_bytes,  # its media link names the generation
    ):
        with pytest.raises(NotFound, match="No such object"):
            call()
    live = bucket.get_blob("a").generation
    assert bucket.blob("a", generation=live).download_as_bytes() == b"new"
    bucket.blob("a", generation=live).delete()


# What there is not


def test_what_is_missing_says_so(client: storage.Client, bucket: storage.Bucket) -> None:
    blob = bucket.blob("a")
    blob.upload_from_string("x")
    with pytest.raises(
        MethodNotImplemented,
        match=r"not implemented in the local cloud: GET /storage/v1/b/\{bucket\}/o/\{object\}/acl",
    ):
        blob.acl.reload()
    with pytest.raises(MethodNotImplemented):
        blob.make_public()
    with pytest.raises(MethodNotImplemented, match=r"b/\{bucket\}/defaultObjectAcl"):
        bucket.default_object_acl.reload()
    with pytest.raises(MethodNotImplemented, match="softDeleted"):
        list(bucket.list_blobs(soft_deleted=True))
    with pytest.raises(MethodNotImplemented, match="notificationConfigs"):
        list(bucket.list_notifications())
    with pytest.raises(MethodNotImplemented, match=r"projects/\{project\}/hmacKeys"):
        client.create_hmac_key("someone@example.com")
    with pytest.raises(MethodNotImplemented, match="x-goog-encryption-key"):
        bucket.blob("b", encryption_key=bytes(32)).upload_from_string("x")
