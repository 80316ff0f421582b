"""Damaged files of the local cloud: it starts with all the rest, or names the file and a way out.

What is in `data` is opened here as the server opens it, without a server.
"""

from __future__ import annotations

import errno
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_cloud import LocalCloudError
from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.engine.spec import Job, State
from local_cloud.images.pulled_images import BUILT, BuiltImage, PulledImages, write
from local_cloud.platform import Platform
from local_cloud.store.damage import require_whole as require_whole_records
from local_cloud.store.errors import DamagedStore, NoSpace
from local_cloud.store.records import Records

COUNT = 40  # jobs: some pages of records
CONTENT = b"the content of an object"


def fill(platform: Platform) -> None:
    """Make a bucket with an object for each cloud, and records of jobs."""
    for objects in (platform.gs, platform.s3):
        objects.create_bucket("kept", {})
        body = objects.upload_file()
        body.write_bytes(CONTENT)
        objects.put("kept", "a/b.txt", body)
    for number in range(COUNT):
        job = Job(f"job-{number}", "vertex", 1, State.SUCCEEDED, 1.0, number)
        platform.records.put("job", job.id, job.document())
        (platform.folder / "jobs" / job.id).mkdir(parents=True)
        (platform.folder / "jobs" / job.id / "workerpool0-0.log").write_text("what it said")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as a killed server leaves it: the last commits are in SQLite's log."""
    root = tmp_path_factory.mktemp("killed")
    platform = Platform.of(root / "open", {})
    fill(platform)
    shutil.copytree(root / "open", root / "data")
    platform.close_records()
    return root / "data"


@pytest.fixture
def data(killed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed, tmp_path / "data"))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def noise(path: Path) -> None:
    path.write_bytes(random.Random(0).randbytes(path.stat().st_size))


def half_noise(path: Path) -> None:
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:half] + random.Random(0).randbytes(len(whole) - half))


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def removed(path: Path) -> None:
    path.unlink()


Damage = Callable[[Path], None]
DAMAGES = (emptied, truncated, noise, half_noise, replaced_by_a_folder, removed)


def opened(data: Path) -> Platform:
    """What a server does with the folder before anything runs."""
    platform = Platform.of(data, {})
    try:
        platform.require_understood()
    except LocalCloudError:
        platform.close_records()
        raise
    return platform


def contents(data: Path) -> dict[str, bytes]:
    """What a learner would miss: everything but SQLite's own files."""
    files = (path for path in data.rglob("*") if path.is_file() and ".sqlite" not in path.name)
    return {str(path.relative_to(data)): path.read_bytes() for path in files}


def require_whole(platform: Platform) -> None:
    """Nothing is missing."""
    assert sum(1 for _ in platform.records.list("job")) == COUNT
    for objects in (platform.gs, platform.s3):
        assert [bucket.name for bucket in objects.buckets()] == ["kept"]
        assert objects.get("kept", "a/b.txt").size == len(CONTENT)
    platform.close_records()


def test_without_room_for_the_check_nothing_is_called_damaged(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as here:
        here.setattr("local_cloud.store.damage.shutil.copyfile", full)
        with pytest.raises(NoSpace, match=r"records.sqlite cannot be checked .* make room in"):
            opened(data)
    require_whole(opened(data))


def test_records_that_the_disk_does_not_give_are_named(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("local_cloud.store.damage.shutil.copyfile", broken)
    with pytest.raises(DamagedStore, match=r"is damaged \(records.sqlite: Input/output error\)"):
        opened(data)


def test_a_log_whose_pages_are_all_in_the_file_may_be_gone(tmp_path: Path) -> None:
    path = tmp_path / "open/records.sqlite"
    path.parent.mkdir()
    records = Records(path)
    records.put("job", "1", {})
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA wal_checkpoint").fetchone()[1] > 0
        for name in (path.name, f"{path.name}-shm"):
            shutil.copy(path.with_name(name), tmp_path)
    records.close()
    require_whole_records(tmp_path / path.name)


def test_undamaged_it_opens(data: Path) -> None:
    require_whole(opened(data))


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["records.sqlite", "s3.sqlite"])
@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_damaged_records_are_named_and_nothing_else_changes(
    data: Path, name: str, ending: str, damage: Damage
) -> None:
    before = contents(data)
    damage(data / f"{name}{ending}")
    for _ in range(2):  # the first look must not repair the evidence away
        try:
            platform = opened(data)
        except DamagedStore as problem:
            assert str(data / name) in str(problem)
            assert "put back a copy" in str(problem) and f"mv '{data}'" in str(problem)
            assert ending != "-shm" or damage is replaced_by_a_folder
        else:  # SQLite makes the index again, and its log may hold all that the file held
            require_whole(platform)
            break
    assert contents(data) == before


@pytest.mark.parametrize("seed", range(20))
def test_no_byte_of_the_log_changes_unnoticed(data: Path, seed: int) -> None:
    """The log has checksums: it is read to its end, or the start is refused."""
    chosen = random.Random(seed)
    log = data / "records.sqlite-wal"
    whole = bytearray(log.read_bytes())
    whole[chosen.randrange(len(whole))] ^= chosen.randrange(1, 256)
    log.write_bytes(whole)
    try:
        require_whole(opened(data))
    except DamagedStore as problem:
        assert "records.sqlite-wal" in str(problem)


def rewritten(data: Path, name: str, kind: str, text: str) -> None:
    with closing(sqlite3.connect(data / name)) as database:
        changed = database.execute("UPDATE record SET document = ? WHERE kind = ?", (text, kind))
        if not changed.rowcount:
            database.execute("INSERT INTO record VALUES (?, 'one', ?)", (kind, text))
        database.commit()


@pytest.mark.parametrize("text", ["{}", "", "[]", "{", '{"state": "dancing"}'])
@pytest.mark.parametrize("kind", ["job", "bucket", "study", "deployment"])
def test_a_record_that_makes_no_sense_is_named(data: Path, kind: str, text: str) -> None:
    rewritten(data, "records.sqlite", kind, text)
    with pytest.raises(DamagedStore, match=f"record of {kind} .*put back a copy"):
        opened(data)


def test_a_killed_servers_half_written_log_is_no_damage(data: Path) -> None:
    """What was being written when it was killed had not been acknowledged."""
    with (data / "records.sqlite-wal").open("ab") as log:
        log.write(random.Random(0).randbytes(5000))
    require_whole(opened(data))


def test_a_deleted_bucket_whose_folder_a_killed_server_has_left_is_no_damage(
    tmp_path: Path,
) -> None:
    platform = Platform.of(tmp_path, {})
    platform.s3.create_bucket("deleted", {})
    left = platform.s3.folder / "deleted/made/by/a/job"
    left.mkdir(parents=True)
    platform.s3.delete_bucket("deleted")
    platform.close_records()
    left.mkdir(parents=True)  # as if it had been killed after the record was written
    opened(tmp_path).close_records()
    (left / "link").symlink_to("/nowhere")  # stays when its bucket is deleted, for it is no object
    opened(tmp_path).close_records()
    (left / "object").touch()
    with pytest.raises(DamagedStore, match="it holds no record, but there is s3-buckets/deleted"):
        opened(tmp_path)


def test_an_image_that_a_killed_process_was_building_or_removing_is_not_listed(
    tmp_path: Path,
) -> None:
    uri, images = "example/lesson:1", PulledImages(tmp_path)
    place = images.place(uri)
    place.mkdir()
    write(place / BUILT, BuiltImage(uri, "", (), (), {}, "", ()))
    for ending, content in (("building-7", b"{"), ("removed", (place / BUILT).read_bytes())):
        place.with_name(f"{place.name}.{ending}").mkdir()
        (place.with_name(f"{place.name}.{ending}") / BUILT).write_bytes(content)
    assert list(images.all_built()) == [uri]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_the_description_of_an_image_is_named(tmp_path: Path, damage: Damage) -> None:
    uri, images = "example/lesson:1", PulledImages(tmp_path)
    images.place(uri).mkdir()
    path = images.place(uri) / BUILT
    write(path, BuiltImage(uri, "", (), (), {}, "", ()))
    assert images.find_built(uri)
    damage(path)
    if damage is removed:
        assert images.find_built(uri) is None
        return
    with pytest.raises(LocalCloudError, match=r"built.json is damaged: remove the folder"):
        images.find_built(uri)


# ---- the files beside the data, with a real server


@pytest.fixture
def stopped(killed: Path, tmp_path: Path) -> Iterator[Home]:
    """The home of a server that has stopped."""
    home = Home(tmp_path / "home")
    home.make()
    shutil.copytree(killed, home.data)
    home.secret()
    home.write_address({"port": 1, "pid": 1})
    home.write_sdk_files()
    home.log.touch()
    yield home
    control.stop(home)


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["secret", "address.json", "lock", "server.log", "aws-config"])
def test_it_starts_with_everything_or_names_the_file(
    stopped: Home, name: str, damage: Damage
) -> None:
    before = contents(stopped.data)
    damage(stopped.folder / name)
    try:
        control.start(stopped)
    except LocalCloudError as problem:
        assert str(stopped.folder / name) in str(problem)
        assert "move it" in str(problem) or "remove that file" in str(problem)
        assert contents(stopped.data) == before
        (stopped.folder / name).rename(stopped.folder.with_name("aside"))  # the way out
        control.start(stopped)
    after = contents(stopped.data)
    assert {path: after.get(path) for path in before} == before
    control.stop(stopped)
    require_whole(opened(stopped.data))


@pytest.mark.slow
def test_the_start_says_it_in_one_sentence(stopped: Home) -> None:
    rewritten(stopped.data, "records.sqlite", "job", "{}")
    with pytest.raises(LocalCloudError) as problem:
        control.start(stopped)
    said = str(problem.value)
    assert "record of job job-0 cannot be understood" in said and "put back a copy" in said
    assert "Traceback" not in said and "Application startup failed" not in said
    (stopped.folder / "secret").write_bytes(b"\xff\xfe\x00 noise" * 10)
    with pytest.raises(LocalCloudError, match=r"secret is damaged.*remove that file"):
        control.start(stopped)
