"""What a job leaves behind, brought to S3: model and output data, of all its instances."""

from __future__ import annotations

import io
import os
import tarfile
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from local_cloud.amazon.sagemaker.instances.layout import ML, Host
from local_cloud.amazon.sagemaker.resources.names import split_s3_uri
from local_cloud.engine.logs import job_files
from local_cloud.json_types import Json
from local_cloud.store import files, interruption, trees
from local_cloud.store.objects import Objects
from local_cloud.store.space import GB, VARIABLE, Counted, Space
from local_cloud.store.trees import BadTree, Entry

ARCHIVES = {"model": "model", "output": "output/data"}  # and the folder of /opt/ml that is in it


def folder(request: Json) -> str:
    """Return the URI below which the job's results lie."""
    base = request["OutputDataConfig"]["S3OutputPath"].rstrip("/")
    return f"{base}/{request['TrainingJobName']}/output"


def model(request: Json) -> str:
    """Return the URI of the model."""
    end = "model.tar.gz" if _is_compressed(request) else "model/"
    return f"{folder(request)}/{end}"


def _is_compressed(request: Json) -> bool:
    return bool(request["OutputDataConfig"].get("CompressionType", "GZIP") == "GZIP")


def upload(request: Json, hosts: Sequence[Host], objects: Objects) -> None:
    """Write the archives, each whole or not at all; or with CompressionType NONE the files.

    Links are kept as such in an archive; a file is also one that a link in the folder leads to.
    An archive of nothing is not written. Of files with the same name the first host's counts.
    BadTree: what a folder holds cannot be brought away.
    """
    bucket, prefix = split_s3_uri(folder(request))
    for name, where in ARCHIVES.items():
        within = folders(hosts, where)
        entries = merge(within, f"{ML}/{where}", objects.space, disks=[host.ml for host in hosts])
        if not entries:
            continue
        if _is_compressed(request):
            body = objects.upload_file()
            try:
                with objects.space.open(body) as file:
                    pack(entries, file)
                objects.put(bucket, f"{prefix}/{name}.tar.gz", body)
            finally:
                body.unlink(missing_ok=True)
            continue
        upload_files(entries, within, f"s3://{bucket}/{prefix}/{name}", objects=objects)


def folders(hosts: Sequence[Host], where: str) -> list[Path]:
    """Return the hosts' folders at a path below /opt/ml; not one to which a link leads."""
    return [host.ml / where for host in hosts if job_files.is_folder(host.ml, where)]


def upload_files(
    entries: Sequence[Entry], folders: Sequence[Path], uri: str, *, objects: Objects
) -> None:
    """Write the files among the entries, each as an object below the URI.

    Of a link, what it leads to counts, if that is a file in the folders.
    """
    bucket, prefix = split_s3_uri(uri.rstrip("/"))
    inside = [at.resolve() for at in folders]
    for entry in entries:
        path = Path(entry.path)
        if entry.is_link:
            path = path.resolve()
            if not (path.is_file() and any(map(path.is_relative_to, inside))):
                continue
            if path.lstat().st_nlink > 1:  # a second name, which may be elsewhere
                continue
        if not entry.is_folder:
            _put(objects, bucket, f"{prefix}/{entry.below}".lstrip("/"), path=path)


def merge(
    folders: Sequence[Path], shown: str, space: Space, *, disks: Sequence[Path] = ()
) -> list[Entry]:
    """Return the files, folders and links that are in the folders, parents before children.

    shown: the folders' path in the job. disks: the instances' /opt/ml; a file that has a name (a
    hard link) outside them is left out, because it may be a file of yours. BadTree: a folder cannot
    be walked, or it holds more than fits, holes counted: whoever reads such a file has to read
    them.
    """
    entries: dict[str, Entry] = {}
    size = 0
    for root in folders:
        for entry in trees.walk(root):
            if entry.below in entries or not (entry.is_file or entry.is_folder or entry.is_link):
                continue
            entries[entry.below] = entry
            size += entry.facts.st_size if entry.is_file else 0
            if size > space.most:
                raise BadTree(
                    f"the files in {shown} have {size / GB:.3g} GB or more, and {VARIABLE} allows"
                    f" {space.most / GB:g} GB: write less there"
                )
    if any(_has_names(entry) for entry in entries.values()):
        return _without_others(entries.values(), disks)
    return list(entries.values())


def _has_names(entry: Entry) -> bool:
    return entry.is_file and entry.facts.st_nlink > 1


def _without_others(entries: Iterable[Entry], disks: Sequence[Path]) -> list[Entry]:
    """Leave out the files that have more names than there are on the instances' disks."""
    there = (entry for disk in disks for entry in trees.walk(disk) if _has_names(entry))
    names = Counter(_identity(entry.facts) for entry in there)
    return [
        entry
        for entry in entries
        if not _has_names(entry) or entry.facts.st_nlink <= names[_identity(entry.facts)]
    ]


def _identity(facts: os.stat_result) -> tuple[int, int]:
    """Return what two names of one file have in common."""
    return facts.st_dev, facts.st_ino


def pack(entries: Sequence[Entry], body: IO[bytes] | Counted) -> None:
    """Write a .tar.gz of the entries; owners, which are of no use elsewhere, are left out.

    What has vanished meanwhile is left out too.
    """
    # Weights hardly shrink: most of the time that a higher level takes is for nothing.
    with tarfile.open(fileobj=body, mode="w:gz", compresslevel=1) as archive:
        for entry in entries:
            with suppress(FileNotFoundError):
                _add(archive, entry)


def _add(archive: tarfile.TarFile, entry: Entry) -> None:
    member = archive.gettarinfo(entry.path, entry.below)
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    if not member.isreg():
        archive.addfile(member)
        return
    with files.open_file(entry.path) as file:
        member.size = os.fstat(file.fileno()).st_size  # what is written later is left out
        archive.addfile(member, _Stoppable(file))


class _Stoppable(io.RawIOBase):
    """A file that is read until the work on it is to stop."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        interruption.check()
        return self._file.read(size)


def _put(objects: Objects, bucket: str, key: str, *, path: Path) -> None:
    try:
        source = files.open_file(path)
    except FileNotFoundError:  # it has vanished, or is not a file any more
        return
    body = objects.upload_file()
    try:
        with source, objects.space.open(body) as target:
            files.append(target, source, os.fstat(source.fileno()).st_size)
        objects.put(bucket, key, body)
    finally:
        body.unlink(missing_ok=True)
