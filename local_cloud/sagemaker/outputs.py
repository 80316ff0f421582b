"""What a job leaves behind, brought to S3: model and output data, of all its instances."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from local_cloud.sagemaker.layout import Host
from local_cloud.sagemaker.names import split_s3_uri
from local_cloud.store.objects import Objects
from local_cloud.store.space import Counted

Json = dict[str, Any]
ARCHIVES = {"model": "model", "output": "output/data"}  # and the folder of /opt/ml that is in it


def folder(request: Json) -> str:
    """The URI below which the job's results lie."""
    base = request["OutputDataConfig"]["S3OutputPath"].rstrip("/")
    return f"{base}/{request['TrainingJobName']}/output"


def model(request: Json) -> str:
    """The URI of the model."""
    end = "model.tar.gz" if _packed(request) else "model/"
    return f"{folder(request)}/{end}"


def _packed(request: Json) -> bool:
    return bool(request["OutputDataConfig"].get("CompressionType", "GZIP") == "GZIP")


def upload(request: Json, hosts: Sequence[Host], objects: Objects) -> None:
    """Write the archives, each whole or not at all; or with CompressionType NONE the files.

    Links are kept as such in an archive; a file is also one that a link in the folder leads to.
    An archive of nothing is not written. Of files with the same name the first host's counts.
    """
    bucket, prefix = split_s3_uri(folder(request))
    for name, where in ARCHIVES.items():
        # A link in a folder's place would lead anywhere.
        folders = [at for host in hosts if not (at := host.ml / where).is_symlink()]
        entries = list(merged(folders))
        if not entries:
            continue
        if _packed(request):
            body = objects.upload_file()
            try:
                with objects.space.open(body) as file:
                    pack(entries, file)
                objects.put(bucket, f"{prefix}/{name}.tar.gz", body)
            finally:
                body.unlink(missing_ok=True)
            continue
        upload_files(entries, folders, f"s3://{bucket}/{prefix}/{name}", objects)


def upload_files(
    entries: Sequence[tuple[Path, str]], folders: Sequence[Path], uri: str, objects: Objects
) -> None:
    """Write the files among the entries, each as an object below the URI.

    One that a link leads to from outside the folders is left out.
    """
    bucket, prefix = split_s3_uri(uri.rstrip("/"))
    inside = [at.resolve() for at in folders]
    for path, entry in entries:
        if path.is_file() and any(map(path.resolve().is_relative_to, inside)):
            _put(objects, bucket, f"{prefix}/{entry}".lstrip("/"), path)


def merged(folders: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """(path, path below its folder) of what is in the folders, parents before children."""
    seen: set[str] = set()
    for root in folders:
        for path in sorted(root.rglob("*")):
            entry = str(path.relative_to(root))
            if entry not in seen and (path.is_file() or path.is_dir() or path.is_symlink()):
                seen.add(entry)
                yield path, entry


def pack(entries: Sequence[tuple[Path, str]], body: IO[bytes] | Counted) -> None:
    """Write a .tar.gz of the entries; owners, which are of no use elsewhere, are left out."""

    def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    # Weights hardly shrink: most of the time that a higher level takes is for nothing.
    with tarfile.open(fileobj=body, mode="w:gz", compresslevel=1) as archive:
        for path, entry in entries:
            archive.add(path, entry, recursive=False, filter=anonymous)


def _put(objects: Objects, bucket: str, key: str, path: Path) -> None:
    body = objects.upload_file()
    try:
        with path.open("rb") as source, objects.space.open(body) as target:
            shutil.copyfileobj(source, target)
        objects.put(bucket, key, body)
    finally:
        body.unlink(missing_ok=True)
