"""What a job may leave in the folders that are brought to S3."""

from __future__ import annotations

import os
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.amazon.sagemaker.instances.layout import Host
from local_cloud.amazon.sagemaker.jobs import outputs
from local_cloud.store.errors import BadName
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records
from local_cloud.store.trees import BadTree
from tests.deep import nested

GB = 10**9


@pytest.fixture
def objects(tmp_path: Path) -> Iterator[Objects]:
    records = Records(tmp_path / "records.sqlite")
    objects = Objects(tmp_path / "buckets", records)
    objects.create_bucket("bucket", {})
    yield objects
    records.close()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host("algo-1", ("algo-1",), tmp_path / "ml")
    (host.ml / "model").mkdir(parents=True)
    (host.ml / "output/data").mkdir(parents=True)
    return host


def request(compression: str = "GZIP") -> dict[str, Any]:
    where = {"S3OutputPath": "s3://bucket", "CompressionType": compression}
    return {"TrainingJobName": "job", "OutputDataConfig": where}


def packed(objects: Objects) -> list[tarfile.TarInfo]:
    with tarfile.open(objects.get("bucket", "job/output/model.tar.gz").path) as archive:
        return archive.getmembers()


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


@pytest.mark.parametrize("compression", ["GZIP", "NONE"])
def test_what_claims_to_be_larger_than_all_that_is_allowed_is_refused_at_once(
    objects: Objects, host: Host, compression: str
) -> None:
    sparse(host.ml / "model/huge", 300 * GB)
    with pytest.raises(BadTree, match=r"^the files in /opt/ml/model have 300 GB or more, and"):
        outputs.upload(request(compression), [host], objects)
    assert list(objects.names("bucket")) == []


def test_a_sparse_file_stays_sparse(objects: Objects, host: Host) -> None:
    sparse(host.ml / "model/holes", 50_000_000)
    outputs.upload(request("NONE"), [host], objects)
    stored = objects.get("bucket", "job/output/model/holes")
    assert stored.size == 50_000_000 and stored.path.stat().st_blocks * 512 < 1_000_000


def test_folders_nested_more_deeply_than_python_calls_functions_are_packed(
    objects: Objects, host: Host
) -> None:
    with nested(host.ml / "model/deep", 1500):
        outputs.upload(request(), [host], objects)
    assert len(packed(objects)) == 1502


def test_only_files_folders_and_links_are_packed(objects: Objects, host: Host) -> None:
    model = host.ml / "model"
    (model / "file").write_text("x")
    (model / "link").symlink_to("/etc/passwd")
    os.mkfifo(model / "pipe")
    (model / os.fsdecode(b"\xff")).write_text("a name that is not UTF-8")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(model / "socket"))
    if os.getuid() == 0:
        os.mknod(model / "device", 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    outputs.upload(request(), [host], objects)
    assert {member.name for member in packed(objects)} == {"file", "link", os.fsdecode(b"\xff")}
    assert next(one for one in packed(objects) if one.name == "link").issym()


def test_a_name_that_no_object_can_have_is_refused_in_a_sentence(
    objects: Objects, host: Host
) -> None:
    (host.ml / "model" / os.fsdecode(b"\xff")).touch()
    with pytest.raises(BadName, match=r"is not valid UTF-8$") as caught:
        outputs.upload(request("NONE"), [host], objects)
    str(caught.value).encode()  # it can be told


def test_files_that_grow_and_vanish_while_they_are_packed(
    objects: Objects, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (host.ml / "model" / name).write_text("12345")
    entries = outputs.merge([host.ml / "model"], "/opt/ml/model", objects.space)
    (host.ml / "model/a").write_text("1234567890")
    (host.ml / "model/b").unlink()
    (host.ml / "model/c").unlink()
    os.mkfifo(host.ml / "model/c")  # nobody ever writes to it
    monkeypatch.setattr(outputs, "merge", lambda *_, **__: entries)
    outputs.upload(request(), [host], objects)
    assert {member.name: member.size for member in packed(objects) if member.isreg()} == {"a": 10}
    outputs.upload(request("NONE"), [host], objects)
    assert objects.get("bucket", "job/output/model/a").size == 10
