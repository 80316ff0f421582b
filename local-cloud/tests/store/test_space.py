"""The limit on what the local cloud writes, and the part of the disk that stays free."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from local_cloud import LocalCloudError
from local_cloud.store import space
from local_cloud.store.errors import NoSpace
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.space import GB, Space, limit


def test_the_limit_is_the_users_or_twenty_gigabytes() -> None:
    assert limit({}) == 20 * GB
    assert limit({"LOCAL_CLOUD_MAX_GB": "0.5"}) == GB // 2
    for wrong in ("all", "0", "-1", "inf", "nan"):
        with pytest.raises(
            LocalCloudError, match=f"LOCAL_CLOUD_MAX_GB is '{wrong}': give a number"
        ):
            limit({"LOCAL_CLOUD_MAX_GB": wrong})


def test_an_object_that_would_be_too_much_is_not_there_and_deleting_makes_room(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "AGAIN", 0.0)
    objects = Objects(tmp_path / "buckets", records, Space(tmp_path, 10_000_000))
    objects.create_bucket("b", {})

    def write(name: str) -> None:
        body = objects.upload_file()
        try:
            with objects.space.open(body) as file:
                for _ in range(6):
                    assert file.write(b"x" * 1_000_000) == 1_000_000
            objects.put("b", name, body)
        finally:
            body.unlink(missing_ok=True)

    write("first")
    with pytest.raises(NoSpace, match=r"holds 0\.01 GB, which is all that LOCAL_CLOUD_MAX_GB"):
        write("second")
    assert list(objects.names("b")) == ["first"]
    objects.delete("b", "first")
    write("third")
    assert list(objects.names("b")) == ["third"]


def test_an_upload_of_nothing_is_refused_too_when_all_is_taken(
    tmp_path: Path, records: Records
) -> None:
    (tmp_path / "file").write_bytes(b"x" * 2_000_000)
    objects = Objects(tmp_path / "buckets", records, Space(tmp_path, 1_000_000))
    with pytest.raises(NoSpace):
        objects.upload_file()


def test_there_is_room_for_what_is_not_yet_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1_000_000)
    room = Space(tmp_path, 3_000_000)
    assert 1_900_000 < room.room() < 2_000_000  # its folder takes some
    room.take(500_000)
    assert 1_400_000 < room.room() < 1_500_000
    new = Space(tmp_path, 3_000_000)
    new.take(1_000_000)  # the folder is measured with it
    assert 900_000 < new.room() < 1_000_000
    assert Space(tmp_path, space.size(tmp_path)).room() == 0


def test_some_of_the_disk_stays_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Space(tmp_path, 10 * GB)
    left = SimpleNamespace(free=GB + 1000)
    monkeypatch.setattr(space.shutil, "disk_usage", lambda folder: left)
    room.take(1000)
    with pytest.raises(NoSpace, match="less than 1 GB of the disk would be left"):
        room.take(1001)


def test_holes_in_files_take_no_room_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/large").write_bytes(bytes(3_000_000))
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/link").symlink_to(tmp_path / "other")
    (folder / "deep/link to a file").symlink_to(tmp_path / "other/large")
    with (folder / "deep/holes").open("wb") as file:
        file.truncate(1 << 40)
    (folder / "some").write_bytes(b"x" * 1_000_000)
    assert 1_000_000 <= space.size(folder) < 1_100_000
