"""Unpack what others have packed: .tar.gz, .zip and .whl.

One way for every archive that is unpacked anywhere. Nothing lands outside the folder, no devices
are made, and what is written is counted while it is written, so that a small archive cannot fill
the disk. Standard library only, and nothing that a late release of Python 3.11 brought (tarfile's
own filters came with 3.11.4).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from local_cloud.bounded.errors import OverLimit
from local_cloud.bounded.files import Pieces, Unpacked
from local_cloud.engine.spec import EngineError
from local_cloud.store import trees

MOST_BYTES = 1 << 30  # of the code of a job: far more than any has
MOST_MEMBERS = 100_000
MOST_OF_HEADERS = 256 << 20  # bytes, of all members together
CHUNK = 1 << 20
# What the two modules raise for a file that is none or is broken, each in its own way; of these,
# RuntimeError is a zip file that asks for a password or has an unknown compression.
DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    LookupError,
    TypeError,
    OverflowError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OverLimit,
)


class ArchiveError(EngineError):
    """An archive cannot be used; the message says which and why."""


@dataclass(frozen=True)
class Member:
    """One entry of an archive: a file if it has content, a link if it has a target, or a folder."""

    path: PurePosixPath
    content: IO[bytes] | None = None
    executable: bool = False
    symlink: str = ""  # what it points to, from the folder that it is in
    hardlink: PurePosixPath | None = None  # an earlier member


def extract(archive: Path, into: Path, most: int = MOST_BYTES) -> None:
    """Unpack an archive into a folder, which is made.

    most: bytes that may be written. Raises ArchiveError, and leaves nothing behind of a folder
    that was not there, for a damaged archive, for a member that would land outside the folder
    (".." and links included), for a device, and for more bytes or members than are allowed.
    """
    new = not into.exists()
    try:
        into.mkdir(parents=True, exist_ok=True)
        _write(archive, into, most)
    except DAMAGED as problem:
        if new:
            trees.remove(into)
        raise _refusal(archive, problem) from problem


def fingerprint(archive: Path, most: int = MOST_BYTES) -> str:
    """Return a hash of what an archive holds, whatever the order and the times of its members.

    Reads the whole archive as extract() does, and writes nothing; or raises ArchiveError.
    """
    left = most
    contents: dict[str, list[object]] = {}
    try:
        for member in members(archive, most):
            content = hashlib.sha256()
            if member.content:
                for chunk in iter(lambda file=member.content: file.read(CHUNK), b""):  # type: ignore[misc]
                    left = _less(left, len(chunk), most)
                    content.update(chunk)
            is_file = member.content is not None
            links = [member.symlink, str(member.hardlink)]
            # Of members of the same name the later one counts.
            contents[str(member.path)] = [is_file, member.executable, *links, content.hexdigest()]
    except DAMAGED as problem:
        raise _refusal(archive, problem) from problem
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def _refusal(archive: Path, problem: Exception) -> ArchiveError:
    said = " ".join(str(problem).split()) or type(problem).__name__
    return ArchiveError(
        f"{archive.name} cannot be unpacked ({said}): make the archive again and send that"
    )


def _less(left: int, written: int, most: int) -> int:
    if written > left:
        raise ValueError(f"unpacked it has more than {most / 1e9:.3g} GB")
    return left - written


def _write(archive: Path, into: Path, most: int) -> None:
    links: list[Member] = []
    left = most
    for member in members(archive, most):
        path = into / member.path
        if member.symlink:
            links.append(member)
        elif member.hardlink is not None:
            left = _less(left, _link(into / member.hardlink, path), most)
        elif member.content is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # a member of the same name: the later one counts
            with path.open("xb") as file:
                while chunk := member.content.read(CHUNK):
                    left = _less(left, len(chunk), most)
                    file.write(chunk)
            path.chmod(0o755 if member.executable else 0o644)
    # Links come last: so nothing is written through one, and where they lead can be looked at
    # when nothing changes any more.
    root = os.path.realpath(into)
    for member in links:
        path = into / member.path
        if os.path.commonpath([root, os.path.realpath(path.parent)]) != root:
            raise ValueError(f"its member {str(member.path)!r} lies behind a link to outside")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(member.symlink)
    for member in links:
        there = os.path.realpath(into / member.path)
        with suppress(FileNotFoundError):
            os.stat(there)  # OSError for links that lead to each other
        if os.path.commonpath([root, there]) != root:
            raise ValueError(f"its member {str(member.path)!r} is a link to outside its folder")


def _link(original: Path, path: Path) -> int:
    """Copy an earlier member, since a link would be one file under two names; its size."""
    if not original.is_file():
        raise ValueError(f"its member {path.name!r} is a link to what is no file outside or in it")
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(original, path)
    return path.stat().st_size


def members(archive: Path, most: int) -> Iterator[Member]:
    """Yield the members in their order.

    Each one's content is to be read before the next is asked for.

    most: bytes of all contents. Raises any of DAMAGED.
    """
    stored = _of_zip(archive) if archive.suffix in (".whl", ".zip") else _of_tar(archive, most)
    for count, member in enumerate(stored):
        if count >= MOST_MEMBERS:
            raise ValueError(f"it has more than {MOST_MEMBERS} members")
        yield member


def _safe(name: str) -> PurePosixPath:
    """Return the path of a member; ValueError if it leads out of the folder."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"its member {name!r} would land outside its folder")
    if "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a file")
    return path


def _of_zip(archive: Path) -> Iterator[Member]:
    with archive.open("rb") as packed, zipfile.ZipFile(Pieces(packed)) as file:
        for info in file.infolist():
            path = _safe(info.filename)
            if info.is_dir():
                yield Member(path)
                continue
            with file.open(info) as content:
                yield Member(path, content, bool(info.external_attr >> 16 & stat.S_IXUSR))


def _of_tar(archive: Path, most: int) -> Iterator[Member]:
    with (
        gzip.open(archive) as unpacked,
        tarfile.open(fileobj=Unpacked(unpacked, most + MOST_OF_HEADERS), mode="r:") as file,
    ):
        for info in file:
            path = _safe(info.name)
            if info.isdir():
                yield Member(path)
            elif info.issym():
                if os.path.isabs(info.linkname):
                    raise ValueError(f"its member {info.name!r} is a link to an absolute path")
                yield Member(path, symlink=info.linkname)
            elif info.islnk():
                yield Member(path, hardlink=_safe(info.linkname))
            elif info.isreg() and info.size >= 0:
                content = file.extractfile(info)
                assert content
                yield Member(path, content, bool(info.mode & stat.S_IXUSR))
            else:
                raise ValueError(f"its member {info.name!r} is neither a file nor a folder")
