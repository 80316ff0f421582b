"""What keeps files whole: digests, placing a finished file by rename, removing one."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import google_crc32c

from local_cloud.store import holes, interruption, names

BLOCK = 1 << 20

# What opening a file raises that a job has removed, replaced or closed to others.
GONE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
# What open() fails with if a link, a socket, a pipe or a folder is in a file's place.
NOT_REGULAR = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EOPNOTSUPP, errno.EISDIR)


@dataclass(frozen=True)
class Digests:
    """The MD5 and the CRC32C (big-endian) of some bytes."""

    md5: bytes
    crc32c: bytes

    def as_document(self) -> dict[str, str]:
        """Return them as a record keeps them."""
        return {"md5": self.md5.hex(), "crc32c": self.crc32c.hex()}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Digests:
        """Read what as_document() made."""
        return cls(bytes.fromhex(document["md5"]), bytes.fromhex(document["crc32c"]))


def identity(facts: os.stat_result) -> list[int]:
    """Return what changes when a file is written: inode, size in bytes, modification time in ns."""
    return [facts.st_ino, facts.st_size, facts.st_mtime_ns]


def digest(path: Path) -> tuple[Digests, list[int], bool]:
    """Return digests and identity of a file, and whether it stayed as it is while it was read.

    Of a file that grows, what was there at first is read. Raises OSError where there is none.
    """
    md5, crc32c = hashlib.md5(usedforsecurity=False), 0
    with open_file(path) as file:
        before = os.fstat(file.fileno())
        left = before.st_size
        while left > 0 and (block := file.read(min(BLOCK, left))):
            interruption.check()
            md5.update(block)
            crc32c = google_crc32c.extend(crc32c, block)
            left -= len(block)
        after = os.fstat(file.fileno())
    steady = identity(before) == identity(after)
    return Digests(md5.digest(), crc32c.to_bytes(4, "big")), identity(before), steady


def find(root: Path, name: str) -> tuple[Path, os.stat_result] | None:
    """Return the file that carries the object, unless a link leads there or none exists.

    root: the bucket's folder, itself without links.
    """
    plain = names.to_path(name)
    for path in (root / plain, root / names.beside_folder(plain)):
        try:
            facts = os.lstat(path)
        except GONE:
            continue
        if stat.S_ISREG(facts.st_mode) and os.path.realpath(path.parent) == str(path.parent):
            return path, facts
    return None


def place(root: Path, name: str, body: Path) -> Path:
    """Make a finished file the object's file; it is there and on the disk, or nothing happened."""
    plain = root / names.to_path(name)
    _make_folders(root, plain.parent)
    beside = Path(names.beside_folder(str(plain)))
    if plain.is_dir() and not plain.is_symlink():
        os.replace(body, beside)
        sync(plain.parent)
        return beside
    os.replace(body, plain)
    sync(plain.parent)
    beside.unlink(missing_ok=True)
    return plain


def remove(root: Path, name: str) -> None:
    """Remove the object's file, and the folders that held nothing else."""
    plain = root / names.to_path(name)
    # The second first, or it would show in the first one's place after a crash.
    Path(names.beside_folder(str(plain))).unlink(missing_ok=True)
    if plain.is_file() and not plain.is_symlink():
        plain.unlink()
    sync(plain.parent)
    with suppress(OSError):  # a folder that is not empty
        while (folder := plain.parent) != root:
            os.rmdir(folder)
            beside = Path(names.beside_folder(str(folder)))
            if beside.exists():
                os.replace(beside, folder)
            plain = folder


def sync(path: Path) -> None:
    """Have the disk hold what the file or folder holds now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_file(path: str | Path) -> FileIO:
    """Open for reading; raises FileNotFoundError for what is not a regular file, a link too."""
    return open(path, "rb", buffering=0, opener=open_regular)


def open_regular(path: str, flags: int, *, folder: int | None = None) -> int:
    """Open a file as os.open does: an opener. FileNotFoundError for what is not a regular file.

    folder: the descriptor of the folder in which the path is.
    """
    try:
        # Opening a pipe would wait for somebody who writes to it.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666, dir_fd=folder)
    except OSError as problem:
        if problem.errno in NOT_REGULAR:
            raise FileNotFoundError(errno.ENOENT, "not a regular file", path) from None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(errno.ENOENT, "not a regular file", path)


def append(target: FileIO, source: BinaryIO | FileIO, size: int) -> None:
    """Copy the next `size` bytes of one file to the end of another; holes stay holes."""
    first, end_of_target = source.tell(), target.seek(0, os.SEEK_END)
    end = max(first, min(first + size, os.fstat(source.fileno()).st_size))
    for start, stop in holes.data(source.fileno(), first, end):
        source.seek(start)
        target.seek(end_of_target + start - first)
        left = stop - start
        while left > 0 and (block := source.read(min(BLOCK, left))):
            interruption.check()
            target.write(block)
            left -= len(block)
    target.truncate(end_of_target + end - first)


def _make_folders(root: Path, folder: Path) -> None:
    inner = folder.relative_to(root).parts
    for depth in range(len(inner) + 1):
        path = root.joinpath(*inner[:depth])
        try:
            path.mkdir()
        except FileExistsError:
            if path.is_dir() and not path.is_symlink():
                continue
            # "a" makes room for the folder of "a/b"; a link does so too, or it would be followed.
            os.replace(path, names.beside_folder(str(path)))
            path.mkdir()
        sync(path.parent)
