"""What an archive of a bucket holds: functions that are called in a process with limits.

Each returns (rows, note), or a text. Raises OverLimit, or DamagedFile for what is not an archive.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

from local_cloud.bounded.errors import DamagedFile, OverLimit
from local_cloud.bounded.files import Pieces, Unpacked
from local_cloud.console.site import words

MEMBERS = 200
LONGEST_NAME = 300  # characters that are shown
UNPACKED = 256 << 20  # bytes of an archive that are unpacked to find its members
LONGEST_HEADER = 1 << 20  # of a member of a .tar file
LONGEST_ARRAY_HEADER = 1 << 16  # NumPy refuses those of more than 10,000 bytes
ENCRYPTED = 1  # this flag of a zip file's member
Rows = list[list[str]]
# What bad bytes make the decoders raise; NumPy reads a header as a literal of Python.
BROKEN = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


@contextmanager
def _in_words() -> Iterator[None]:
    """Make what bad bytes raise a DamagedFile."""
    try:
        yield
    except BROKEN as problem:
        raise DamagedFile(str(problem)[:LONGEST_NAME]) from problem


def of_zip(path: str) -> tuple[Rows, str]:
    """Return the members of a .zip or .npz file, with the shape and type of each array."""
    rows = [["name", "size", "array"]]
    with _in_words(), Path(path).open("rb") as file, zipfile.ZipFile(Pieces(file)) as archive:
        for member in archive.infolist()[:MEMBERS]:
            array = _array(archive, member) if member.filename.endswith(".npy") else ""
            size = words.size(member.file_size)
            rows.append([member.filename[:LONGEST_NAME], size, array[:LONGEST_NAME]])
        return rows, f"{len(archive.infolist())} members."


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Return the shape and type of a member that is a NumPy array, or why they are unreadable."""
    if member.flag_bits & ENCRYPTED:
        return "encrypted"
    try:
        with archive.open(member) as file:
            return _header(file)
    except NotImplementedError:
        return "its compression is not supported"
    except OverLimit:
        return f"its header is larger than {words.size(LONGEST_ARRAY_HEADER)}"
    except BROKEN:
        return "not an array"


def _header(packed: IO[bytes]) -> str:
    """Return the shape and the type of a NumPy array; its values are not read."""
    from numpy.lib import format as npy

    file = Unpacked(packed, LONGEST_ARRAY_HEADER, LONGEST_ARRAY_HEADER)
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, kind = read(file)
    return f"{' × '.join(map(str, shape)) or 'one value'}, {kind}"


def of_tar(path: str) -> tuple[Rows, str]:
    """Return the members of a .tar file, packed or not, as far as the limits allow."""
    rows = [["name", "size"]]
    with _in_words(), _open_unpacked(path) as packed, _archive(packed) as archive:
        try:
            for member in islice(archive, MEMBERS):
                size = words.size(member.size) if member.isfile() else "folder"
                rows.append([member.name[:LONGEST_NAME], size])
        except OverLimit as problem:
            if len(rows) == 1:
                raise
            return rows, f"More cannot be shown: {problem}."
    return rows, f"The first {MEMBERS} members." if len(rows) > MEMBERS else ""


def text_in_tar(path: str, name: str, most: int) -> str:
    """Return the text of the file of this name in the first folder; "" if there is none."""
    with _in_words(), _open_unpacked(path) as packed, _archive(packed) as archive:
        for member in islice(archive, MEMBERS):
            if member.name.removeprefix("./") == name and member.isfile():
                if member.size > most:
                    raise OverLimit(f"{name} in it is larger than {words.size(most)}")
                file = archive.extractfile(member)
                return file.read().decode(errors="replace") if file else ""
    return ""


def _open_unpacked(path: str) -> IO[bytes] | io.BufferedIOBase:
    """Return the file, unpacked if its first bytes say that it is packed."""
    with Path(path).open("rb") as file:
        head = file.read(2)
    if head == b"\x1f\x8b":
        return gzip.GzipFile(path)
    if head == b"BZ":
        return bz2.BZ2File(path)
    return lzma.LZMAFile(path) if head == b"\xfd7" else io.BufferedReader(io.FileIO(path))


def _archive(packed: IO[bytes] | io.BufferedIOBase) -> tarfile.TarFile:
    return tarfile.open(fileobj=Unpacked(packed, UNPACKED, LONGEST_HEADER), mode="r:")
