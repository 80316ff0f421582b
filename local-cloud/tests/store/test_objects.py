"""Objects are files, files are objects, and nothing is ever half written."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path

import google_crc32c
import pytest

from local_cloud.store import files
from local_cloud.store.errors import (
    BadName,
    BucketExists,
    BucketNotEmpty,
    DigestMismatch,
    NoSpace,
    NoSuchBucket,
    NoSuchObject,
    PreconditionFailed,
    Unsteady,
)
from local_cloud.store.interruption import Interrupted, interruptible
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.values import Condition, Object


def put(
    objects: Objects, name: str, content: bytes = b"content", when: Condition | None = None
) -> Object:
    body = objects.upload_file()
    body.write_bytes(content)
    return objects.put("k", name, body, attributes={"by": "put"}, when=when or Condition())


@pytest.mark.parametrize("other", ["folder/b", "folder/a/b"], ids=["beside it", "below it"])
def test_the_disk_holds_the_content_before_the_name_and_then_the_name(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """A power cut in between leaves the old object; the other way round, one without content."""
    put(objects, other)
    order: list[tuple[str, int]] = []
    fsync, rename = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        order.append(("fsync", os.fstat(descriptor).st_ino))

    def renamed(source: Path, target: Path) -> None:
        rename(source, target)
        order.append(("rename", os.stat(target).st_ino))

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    stored = put(objects, "folder/a")
    content, folder = os.stat(stored.path).st_ino, os.stat(stored.path.parent).st_ino
    own = [step for step in order if step[1] in (content, folder)]
    after = own.index(("rename", content))
    assert ("fsync", content) in own[:after] and ("fsync", folder) in own[after:]


def read(objects: Objects, name: str) -> bytes:
    stored, file = objects.open("k", name)
    with file:
        return file.read(stored.size)


def everything(objects: Objects) -> list[str]:
    return [stored.name for stored in objects.list("k")]


def job_writes(objects: Objects, path: str, content: bytes = b"by a job") -> Path:
    """Write below the folder as a job does that has it mounted, some time ago."""
    file = objects.folder / "k" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    os.utime(file, ns=(0, time.time_ns() - 10**9))
    return file


# Buckets


def test_a_bucket_is_a_folder_and_is_there_once(objects: Objects) -> None:
    assert (objects.folder / "k").is_dir()
    with pytest.raises(BucketExists):
        objects.create_bucket("k", {})
    objects.create_bucket("another", {"location": "US"})
    assert [bucket.name for bucket in objects.buckets()] == ["another", "k"]
    assert [bucket.name for bucket in objects.buckets("k")] == ["k"]
    objects.delete_bucket("another")
    assert not (objects.folder / "another").exists()
    with pytest.raises(NoSuchBucket):
        objects.bucket("another")
    with pytest.raises(NoSuchBucket):
        objects.get("another", "a")


def test_nothing_is_put_into_a_bucket_that_was_deleted_meanwhile(objects: Objects) -> None:
    objects.create_bucket("gone", {})
    body = objects.upload_file()
    body.write_bytes(b"1")
    objects.delete_bucket("gone")
    with pytest.raises(NoSuchBucket):
        objects.put("gone", "a", body)
    assert body.read_bytes() == b"1"
    assert not (objects.folder / "gone").exists()


@pytest.mark.parametrize("name", ["", "..", ".", "a/b", "../x", "a\0", "é", "-a", "x" * 223])
def test_a_bucket_cannot_be_another_folder(objects: Objects, name: str) -> None:
    with pytest.raises(BadName):
        objects.create_bucket(name, {})


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 1025])
def test_an_object_cannot_have_every_name(objects: Objects, tmp_path: Path, name: str) -> None:
    (body := tmp_path / "body").write_bytes(b"1")
    with pytest.raises(BadName, match="name"):
        objects.put("k", name, body)
    assert body.read_bytes() == b"1"
    assert not list(objects.list("k"))


def test_a_link_is_no_bucket(objects: Objects, tmp_path: Path) -> None:
    (objects.folder / "link").symlink_to(tmp_path)
    with pytest.raises(BadName, match="in the way"):
        objects.create_bucket("link", {})


def test_a_bucket_with_objects_is_not_deleted(objects: Objects) -> None:
    job_writes(objects, "deep/down/file")
    with pytest.raises(BucketNotEmpty, match="deep/down/file"):
        objects.delete_bucket("k")
    objects.delete("k", "deep/down/file")
    (objects.folder / "k/left/empty").mkdir(parents=True)
    objects.delete_bucket("k")
    assert list(objects.folder.iterdir()) == []


def test_a_bucket_is_of_the_first_generation_and_a_missing_object_of_none(objects: Objects) -> None:
    with pytest.raises(PreconditionFailed):
        objects.delete_bucket("k", Condition(generation=2))
    with pytest.raises(PreconditionFailed):
        put(objects, "a", when=Condition(metageneration=1))
    put(objects, "a", when=Condition(generation=0, metageneration=0))
    objects.delete("k", "a")
    objects.delete_bucket("k", Condition(generation=1))


def test_changing_a_bucket_counts(objects: Objects) -> None:
    changed = objects.update_bucket("k", lambda old: {"labels": {"a": "b"}})
    assert (changed.metageneration, changed.attributes) == (2, {"labels": {"a": "b"}})
    assert objects.bucket("k") == changed
    with pytest.raises(PreconditionFailed):
        objects.update_bucket("k", lambda old: {}, Condition(metageneration=1))


# Objects and files


def test_an_object_is_the_file_of_its_name(objects: Objects) -> None:
    before = time.time()
    stored = put(objects, "data/train.npz", b"123456789")
    assert before - 1 < stored.created == stored.updated < time.time() + 1
    assert (objects.folder / "k/data/train.npz").read_bytes() == b"123456789"
    assert stored == objects.get("k", "data/train.npz") == next(objects.list("k"))
    assert stored.md5 == hashlib.md5(b"123456789").digest()
    assert stored.crc32c.hex() == "e3069283"  # the check value of CRC-32C, RFC 3720
    assert (stored.size, stored.metageneration, stored.attributes) == (9, 1, {"by": "put"})
    assert read(objects, "data/train.npz") == b"123456789"


def test_a_file_that_a_job_writes_is_an_object(objects: Objects) -> None:
    file = job_writes(objects, "model/metrics.json", b"{}")
    stored = objects.get("k", "model/metrics.json")
    assert (stored.content_type, stored.size, stored.attributes) == ("application/json", 2, {})
    assert stored.crc32c == google_crc32c.Checksum(b"{}").digest()
    assert stored.generation == file.stat().st_mtime_ns // 1000
    assert everything(objects) == ["model/metrics.json"]


def test_a_file_that_a_job_writes_is_read_once_for_its_digests(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = objects.folder / "k" / "large"
    file.write_bytes(b"content")
    os.utime(file, (1_000_000_000, 1_000_000_000))  # a file that is still written is read again
    stored = objects.get("k", "large")
    assert stored.metageneration == 1
    monkeypatch.setattr(files, "digest", None)
    assert objects.get("k", "large") == stored


def test_the_sizes_alone_are_those_of_a_listing(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what was sent and what a job wrote, changed or removed; they are found without reading."""
    for name in ("a", "a/b", "b/a\nb", "b//c", "x" * 300, "é", "z/changed", "z/removed"):
        put(objects, name, name.encode())
    for path in ("by a job", "a-job/wrote", "z/changed"):
        job_writes(objects, path, b"longer than before")
    (objects.folder / "k" / "z" / "removed").unlink()
    os.truncate(job_writes(objects, "huge"), 1 << 40)
    (objects.folder / "k" / "link").symlink_to(job_writes(objects, "linked"))
    with monkeypatch.context() as patch:
        patch.setattr(files, "digest", None)
        sizes = list(objects.sizes("k"))
    assert sizes == [(stored.size, stored.created) for stored in objects.list("k")]
    assert len(sizes) == 10
    assert list(objects.sizes("k")) == sizes


def test_what_is_deleted_while_sizes_are_read_has_none(objects: Objects) -> None:
    for name in "abc":
        put(objects, name, name.encode())
    sizes = objects.sizes("k")
    next(sizes)
    objects.delete("k", "b")
    assert list(sizes) == [(1, objects.get("k", "c").created)]


def test_what_is_removed_while_it_is_read_is_not_listed(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = job_writes(objects, "b")
    job_writes(objects, "a")
    digest = files.digest

    def read_after_b_has_gone(path: Path) -> tuple[files.Digests, list[int], bool]:
        file.unlink(missing_ok=True)
        return digest(path)

    monkeypatch.setattr(files, "digest", read_after_b_has_gone)
    assert everything(objects) == ["a"]


def test_a_listing_writes_nothing_down_again(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(objects, "a")
    monkeypatch.setattr(objects.records, "put", None)
    assert everything(objects) == ["a"]


def test_a_file_that_a_job_changes_is_a_new_object(objects: Objects) -> None:
    old = put(objects, "a", b"old")
    job_writes(objects, "a", b"new!")
    new = objects.get("k", "a")
    assert (new.md5, new.size) == (hashlib.md5(b"new!").digest(), 4)
    assert new.generation > old.generation  # although the file says that it is older
    assert new == objects.get("k", "a")
    with pytest.raises(PreconditionFailed):
        put(objects, "a", when=Condition(generation=old.generation))


def test_a_change_that_the_clock_cannot_tell_is_seen(objects: Objects) -> None:
    file = job_writes(objects, "a", b"one")
    os.utime(file)
    times = file.stat()
    assert objects.get("k", "a").md5 == hashlib.md5(b"one").digest()
    file.write_bytes(b"two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert objects.get("k", "a").md5 == hashlib.md5(b"two").digest()


def test_a_file_that_a_job_removes_is_gone(objects: Objects) -> None:
    old = put(objects, "a")
    (objects.folder / "k/a").unlink()
    with pytest.raises(NoSuchObject):
        objects.get("k", "a")
    assert put(objects, "a", when=Condition(generation=0)).generation > old.generation


def test_a_bucket_whose_folder_a_job_removes_is_empty(objects: Objects) -> None:
    put(objects, "a")
    shutil.rmtree(objects.folder / "k")
    assert everything(objects) == []
    put(objects, "b/c")
    assert everything(objects) == ["b/c"]


@pytest.mark.parametrize("name", ["a.tmp", ".hidden", "~lock", "dir/.part-1", "a\r", "x" * 253])
def test_any_name_that_a_job_gives_a_file_is_an_object(objects: Objects, name: str) -> None:
    job_writes(objects, name)
    assert everything(objects) == [name]


def test_empty_folders_fifos_and_strange_names_are_no_objects(objects: Objects) -> None:
    (objects.folder / "k/empty/folder").mkdir(parents=True)
    os.mkfifo(objects.folder / "k/fifo")
    job_writes(objects, "no\ncode")
    with open(os.fsencode(objects.folder / "k") + b"/\xff", "wb"):
        pass
    assert everything(objects) == []
    for name in ("empty", "empty/folder", "fifo", "no"):
        with pytest.raises(NoSuchObject):
            objects.get("k", name)


def test_links_lead_nowhere(objects: Objects, tmp_path: Path) -> None:
    secret = tmp_path / "outside/secret"
    secret.parent.mkdir()
    secret.write_text("not yours")
    root = objects.folder / "k"
    (root / "file").symlink_to(secret)
    (root / "folder").symlink_to(secret.parent)
    assert everything(objects) == list(objects.names("k")) == []
    for name in ("file", "folder/secret"):
        with pytest.raises(NoSuchObject, match=f"no object '{name}' in bucket k"):
            objects.get("k", name)
        with pytest.raises(NoSuchObject):
            objects.delete("k", name)
    put(objects, "file", b"mine")
    put(objects, "folder/secret", b"mine")
    assert everything(objects) == ["file", "folder/secret"]
    assert [path.name for path in secret.parent.iterdir()] == ["secret"]
    assert secret.read_text() == "not yours"


@pytest.mark.parametrize("name", ["../other/a", "/etc/passwd", "..", ".", "a//b", "a/", "\n", "/"])
def test_no_name_leaves_the_bucket(objects: Objects, name: str) -> None:
    put(objects, name, b"safe")
    assert everything(objects) == [name]
    assert read(objects, name) == b"safe"
    assert objects.get("k", name).path.is_relative_to(objects.folder / "k")
    objects.delete("k", name)
    assert list((objects.folder / "k").iterdir()) == []


@pytest.mark.parametrize("order", [("a", "a/b", "a/b/c"), ("a/b/c", "a/b", "a")])
def test_a_name_is_both_an_object_and_a_beginning(objects: Objects, order: tuple[str, ...]) -> None:
    for name in order:
        put(objects, name, name.encode())
    assert everything(objects) == ["a", "a/b", "a/b/c"]
    for name in order:
        put(objects, name, name.encode() * 2)
        assert read(objects, name) == name.encode() * 2
    objects.delete("k", "a/b/c")
    assert (objects.folder / "k/a/b").is_file()  # no folder needs its name any more
    objects.delete("k", "a")
    assert everything(objects) == ["a/b"]


def test_making_room_for_a_folder_leaves_the_object_as_it_was(objects: Objects) -> None:
    before = put(objects, "a")
    put(objects, "a/b")
    after = objects.get("k", "a")
    assert (after.generation, after.attributes) == (before.generation, before.attributes)


def test_deleting_removes_folders_that_hold_nothing_else(objects: Objects) -> None:
    for name in ("a/b/c/1", "a/b/2"):
        put(objects, name)
    objects.delete("k", "a/b/c/1")
    assert not (objects.folder / "k/a/b/c").exists()
    objects.delete("k", "a/b/2")
    assert (objects.folder / "k").is_dir()
    assert not (objects.folder / "k/a").exists()
    with pytest.raises(NoSuchObject):
        objects.delete("k", "a/b/2")
    assert list(objects.records.list("object/k")) == []


# Writing


def test_generations_grow_with_each_write_also_within_a_microsecond(objects: Objects) -> None:
    generations = [put(objects, "a").generation for _ in range(5)]
    objects.delete("k", "a")
    generations.append(put(objects, "a").generation)
    assert generations == sorted(set(generations))


def test_generations_grow_when_the_clock_goes_back(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put(objects, "a").generation
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    second = put(objects, "a").generation
    objects.delete("k", "a")
    assert first < second < put(objects, "a").generation


def test_a_write_that_meets_no_condition_changes_nothing(objects: Objects) -> None:
    stored = put(objects, "a", b"first", Condition(generation=0))
    for when in (
        Condition(generation=0),
        Condition(generation=stored.generation + 1),
        Condition(generation_not=stored.generation),
        Condition(metageneration=2),
        Condition(metageneration_not=1),
    ):
        with pytest.raises(PreconditionFailed) as failed:
            put(objects, "a", b"second", when)
        # "This one" answers a reader with 304, not with 412.
        assert failed.value.excluded == bool(when.generation_not or when.metageneration_not)
        with pytest.raises(PreconditionFailed):
            objects.delete("k", "a", when)
    assert objects.get("k", "a") == stored
    put(objects, "a", b"second", Condition(generation=stored.generation, metageneration=1))
    assert read(objects, "a") == b"second"
    with pytest.raises(PreconditionFailed):
        put(objects, "b", when=Condition(generation_not=0))


def test_only_one_of_several_writers_is_the_first(objects: Objects) -> None:
    def create(number: int) -> bool:
        try:
            put(objects, "lock", str(number).encode(), Condition(generation=0))
        except PreconditionFailed:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(32)))
    assert sum(won) == 1
    assert read(objects, "lock") == str(won.index(True)).encode()


def test_other_bytes_than_announced_are_not_stored(objects: Objects) -> None:
    body = objects.upload_file()
    body.write_bytes(b"received")
    for announced in ({"md5": bytes(16)}, {"crc32c": bytes(4)}):
        with pytest.raises(DigestMismatch):
            objects.put("k", "a", body, **announced)
    assert everything(objects) == []


def test_reading_goes_on_with_the_old_bytes_while_new_ones_are_written(objects: Objects) -> None:
    put(objects, "a", b"old")
    stored, file = objects.open("k", "a")
    put(objects, "a", b"new")
    with file:
        assert file.read(stored.size) == b"old"


def test_attributes_change_without_a_new_generation(objects: Objects) -> None:
    old = put(objects, "a")
    new = objects.update("k", "a", lambda stored: ("text/plain", stored.attributes | {"x": 1}))
    assert (new.generation, new.metageneration) == (old.generation, 2)
    assert (new.content_type, new.attributes) == ("text/plain", {"by": "put", "x": 1})
    assert new == objects.get("k", "a")
    with pytest.raises(PreconditionFailed):
        objects.update("k", "a", lambda stored: ("", {}), when=Condition(metageneration=1))
    with pytest.raises(NoSuchObject):
        objects.update("k", "b", lambda stored: ("", {}))


def test_attributes_of_a_job_s_file_can_be_set(objects: Objects) -> None:
    job_writes(objects, "a")
    objects.update("k", "a", lambda stored: ("text/plain", {"x": 1}))
    assert objects.get("k", "a").attributes == {"x": 1}


def test_a_copy_is_a_file_of_its_own(objects: Objects) -> None:
    objects.create_bucket("other", {})
    source = put(objects, "a", b"bytes")
    copy = objects.copy(
        ("k", "a"), ("other", "b"), lambda stored: (stored.content_type, stored.attributes)
    )
    job_writes(objects, "a", b"changed")
    assert objects.get("other", "b") == copy
    assert (copy.md5, copy.attributes) == (source.md5, source.attributes)


def test_objects_are_composed_in_order_also_onto_one_of_them(objects: Objects) -> None:
    for name in ("a", "b"):
        put(objects, name, name.encode())
    sources = [("a", Condition()), ("b", Condition()), ("a", Condition())]
    composed = objects.compose(
        "k", sources, "a", change=lambda of: (of[0].content_type, {"count": len(of)})
    )
    assert (read(objects, "a"), composed.attributes) == (b"aba", {"count": 3})
    with pytest.raises(PreconditionFailed):
        objects.compose("k", [("b", Condition(generation=1))], "c", change=lambda of: ("", {}))
    with pytest.raises(NoSuchObject):
        objects.compose(
            "k", [("a", Condition()), ("none", Condition())], "c", change=lambda of: ("", {})
        )
    body = objects.upload_file()
    assert [path for path in body.parent.iterdir() if path.is_file()] == [body]


# Listing


def test_names_are_listed_by_their_bytes(objects: Objects) -> None:
    unsorted = ["a/b", "a-b", "a", "a0", "é", "Z", "a/", "a//c", "😀", "\uffff", "x" * 300, "a.b/c"]
    for name in unsorted:
        put(objects, name)
    assert everything(objects) == sorted(unsorted, key=str.encode)


def test_a_listing_can_be_narrowed_started_and_grouped(objects: Objects) -> None:
    for name in ["a", "a/1", "a/2/x", "b-1", "b/1", "b/2/x", "b/2/y", "b/", "c"]:
        put(objects, name)
    assert list(objects.names("k", "b")) == ["b-1", "b/", "b/1", "b/2/x", "b/2/y"]
    assert list(objects.names("k", "b/2")) == ["b/2/x", "b/2/y"]
    assert list(objects.names("k", start="b/2/x")) == ["b/2/x", "b/2/y", "c"]
    assert list(objects.names("k", start="a/2/x", end="b/1")) == ["a/2/x", "b-1", "b/"]
    assert list(objects.names("k", delimiter="/")) == ["a", "a/", "b-1", "b/", "c"]
    assert list(objects.names("k", "b/", delimiter="/")) == ["b/", "b/1", "b/2/"]
    assert list(objects.names("k", after="b/", delimiter="/")) == ["c"]
    assert list(objects.names("k", after="a", delimiter="/")) == ["a/", "b-1", "b/", "c"]
    assert list(objects.names("k", delimiter="-")) == [
        "a",
        "a/1",
        "a/2/x",
        "b-",
        "b/",
        "b/1",
        "b/2/x",
        "b/2/y",
        "c",
    ]


def test_a_name_that_shows_twice_is_listed_once(objects: Objects) -> None:
    put(objects, "a/b")
    put(objects, "a", b"beside the folder")
    shutil.rmtree(objects.folder / "k/a")
    job_writes(objects, "a", b"in the folder's place")
    assert everything(objects) == ["a"]
    assert read(objects, "a") == b"in the folder's place"
    objects.delete("k", "a")
    assert everything(objects) == []


def test_a_new_object_leaves_nothing_of_the_one_beside_a_folder(objects: Objects) -> None:
    put(objects, "a/b")
    put(objects, "a", b"old")
    shutil.rmtree(objects.folder / "k/a")
    put(objects, "a", b"new")
    (objects.folder / "k/a").unlink()
    assert everything(objects) == []


# Meanwhile somebody else writes


def test_what_is_removed_in_the_moment_before_it_is_opened_is_not_there(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(objects, "a")
    open_file = files.open_file

    def opened(path: Path) -> FileIO:
        path.unlink(missing_ok=True)
        return open_file(path)

    monkeypatch.setattr(files, "open_file", opened)
    with pytest.raises(NoSuchObject):
        objects.open("k", "a")


def test_what_is_replaced_whenever_it_is_opened_is_refused_in_a_sentence(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(objects, "a")
    open_file = files.open_file

    def opened(path: Path) -> FileIO:
        new = tmp_path / f"file {len(list(tmp_path.iterdir()))}"  # none has the number of another
        new.touch()
        path.unlink()
        path.hardlink_to(new)
        return open_file(path)

    monkeypatch.setattr(files, "open_file", opened)
    with pytest.raises(Unsteady, match="'a' in bucket k changes faster than it can be read"):
        objects.open("k", "a")


def test_an_update_begins_again_with_what_was_written_in_the_moment_before(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(objects, "a", b"old")
    get, meanwhile = objects.get, [b"newer"]

    def write_first(bucket: str, name: str) -> Object:
        before = get(bucket, name)
        if meanwhile:
            put(objects, "a", meanwhile.pop())
        return before

    monkeypatch.setattr(objects, "get", write_first)
    updated = objects.update("k", "a", lambda old: (f"{old.size} bytes", {}))
    assert (updated.content_type, read(objects, "a")) == ("5 bytes", b"newer")


def test_a_bucket_that_is_not_there_holds_no_names_and_nothing_to_delete(objects: Objects) -> None:
    with pytest.raises(NoSuchBucket):
        objects.delete("other", "a")
    with pytest.raises(NoSuchBucket):
        objects.names("other")


def test_an_upload_leaves_no_file_open(objects: Objects) -> None:
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        objects.upload_file()
        put(objects, "a")
        objects.delete("k", "a")
    assert len(os.listdir("/dev/fd")) == before


# After a crash


def test_what_a_killed_process_left_of_uploads_is_removed_unless_kept(
    objects: Objects, records: Records
) -> None:
    left, kept = objects.upload_file(), objects.upload_file(keep="1a")
    assert objects.find_kept("1a") == kept
    with pytest.raises(FileExistsError):
        objects.upload_file(keep="1a")
    kept.write_bytes(b"half")
    again = Objects(objects.folder, records)
    assert not left.exists()
    assert again.find_kept("1a") == kept
    assert kept.read_bytes() == b"half"
    assert again.find_kept("1b") is None
    assert everything(again) == []


def test_a_crash_before_the_record_leaves_a_whole_object(
    objects: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = put(objects, "a", b"old")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Records, "put", _die)
        put(objects, "a", b"new")
    stored = objects.get("k", "a")
    assert (read(objects, "a"), stored.md5) == (b"new", hashlib.md5(b"new").digest())
    assert stored.generation > old.generation


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_copy_of_a_sparse_file_is_sparse(objects: Objects, tmp_path: Path) -> None:
    """Its holes would fill the disk, and reading them takes time."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    with source.open("wb") as file:
        file.write(b"begin")
        file.seek(50_000_000)
        file.write(b"middle")
        file.truncate(100_000_000)
    copy.write_bytes(b"before")
    with source.open("rb", buffering=0) as file, objects.space.open(copy, "r+b") as target:
        files.append(target, file, 80_000_000)
    assert copy.stat().st_size == 80_000_006
    assert copy.stat().st_blocks * 512 < 1_000_000
    content = copy.read_bytes()
    assert content.startswith(b"beforebegin\0")
    assert content[50_000_006:].strip(b"\0") == b"middle" and content[50_000_006:].startswith(b"m")


def test_a_file_that_claims_more_than_all_may_hold_is_not_an_object(objects: Objects) -> None:
    """To tell its digests it would have to be read: 300 GB of zeros take many minutes."""
    with (objects.folder / "k/huge").open("wb") as file:
        file.truncate(300 * 10**9)
    put(objects, "small")
    assert [stored.name for stored in objects.list("k")] == ["small"]
    with pytest.raises(NoSpace, match="'huge' in bucket k has 300 GB, more than LOCAL_CLOUD_MAX_G"):
        objects.get("k", "huge")
    objects.delete("k", "huge")
    assert not (objects.folder / "k/huge").exists()


def test_work_on_objects_stops_when_it_is_to_stop(objects: Objects) -> None:
    stored = put(objects, "a")
    wanted = threading.Event()
    with interruptible(wanted):
        body = objects.upload_file()
        wanted.set()
        with pytest.raises(Interrupted), objects.space.open(body) as file:
            file.write(b"x")
        with pytest.raises(Interrupted):
            files.digest(stored.path)
