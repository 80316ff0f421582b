"""What a file of a bucket holds, shown without running any of it.

Nothing of a bucket is ever sent as HTML, and nothing is unpickled: a preview is text, a table, a
list of names, or a picture whose first bytes say that it is one.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import lzma
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local_cloud.console import words

SHOWN = 1 << 16  # bytes of a text
ROWS, COLUMNS = 100, 40  # of a table
LARGEST_JSON = 1 << 20
LARGEST_ARCHIVE = 64 << 20
MEMBERS = 200
ENCRYPTED = 1  # this flag of a zip file's member
# The first bytes of what is sent as a picture, and nothing else is.
PICTURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True)
class Preview:
    """One of: text, a table (the first row is its head), or a picture; `note` says what is left."""

    kind: str  # text, table, picture or none
    text: str = ""
    rows: Sequence[Sequence[str]] = field(default_factory=tuple)
    note: str = ""


# What bad bytes make the decoders raise; NumPy reads a header as a literal of Python.
BROKEN = (
    *(OSError, EOFError, ValueError, TypeError, KeyError, IndexError, RuntimeError, MemoryError),
    *(SyntaxError, tokenize.TokenError, struct.error, zlib.error, lzma.LZMAError),
    *(tarfile.TarError, zipfile.BadZipFile),
)


def picture_type(path: Path) -> str:
    """The type of a picture, by its first bytes; "" for what is none that is shown."""
    with path.open("rb") as file:
        head = file.read(16)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in PICTURES.items() if head.startswith(magic)), "")


def of(path: Path, name: str, size: int) -> Preview:
    """What can be shown of a file; name: the object's."""
    if picture_type(path):
        return Preview("picture")
    try:
        if name.endswith((".npz", ".zip")):
            return _zip(path)
        if name.endswith((".tar.gz", ".tgz", ".tar")) and size <= LARGEST_ARCHIVE:
            return _tar(path)
    except BROKEN as problem:
        return Preview("none", note=f"It cannot be read as the archive it is named: {problem}")
    with path.open("rb") as file:
        head = file.read(SHOWN)
    if b"\0" in head:
        return Preview("none", note="There is no preview of such files: download it.")
    try:
        text = head.decode()
    except UnicodeDecodeError as problem:
        if problem.start < len(head) - 4:  # not a letter that is cut at the end
            return Preview("none", note="There is no preview of such files: download it.")
        text = head[: problem.start].decode()
    note = f"The first {words.size(SHOWN)} of {words.size(size)}." if size > SHOWN else ""
    if name.endswith((".csv", ".tsv")):
        return _table(text, "\t" if name.endswith(".tsv") else ",", note)
    if name.endswith(".json") and SHOWN < size <= LARGEST_JSON:
        text, note = path.read_text(errors="replace"), ""
    if name.endswith(".json") and not note:
        return Preview("text", _pretty(text))
    return Preview("text", text, note=note)


def _pretty(text: str) -> str:
    try:
        return words.pretty(json.loads(text))
    except (ValueError, RecursionError):
        return text  # as it is


def _table(text: str, delimiter: str, note: str) -> Preview:
    try:
        rows = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=delimiter), ROWS + 1))
    except csv.Error:
        return Preview("text", text, note=note)
    if len(rows) > ROWS:
        note = f"The first {ROWS} rows."
    width = max((len(row) for row in rows), default=0)
    rows = [[*row, *[""] * (width - len(row))][:COLUMNS] for row in rows]
    return Preview("table", rows=rows, note=note)


def _zip(path: Path) -> Preview:
    rows = [["name", "size", "array"]]
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist()[:MEMBERS]:
            array = _array(archive, member) if member.filename.endswith(".npy") else ""
            rows.append([member.filename, words.size(member.file_size), array])
        note = f"{len(archive.infolist())} members."
    return Preview("table", rows=rows, note=note)


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """The shape and the type of a member that is a NumPy array, or why they cannot be read."""
    if member.flag_bits & ENCRYPTED:
        return "encrypted"
    try:
        with archive.open(member) as file:
            return _header(file)  # type: ignore[arg-type]
    except NotImplementedError:
        return "its compression is not supported"
    except BROKEN:
        return "not an array"


def _header(file: io.BufferedIOBase) -> str:
    """The shape and the type of a NumPy array; its values are not read."""
    from numpy.lib import format as npy

    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, kind = read(file)
    return f"{' × '.join(map(str, shape)) or 'one value'}, {kind}"


def _tar(path: Path) -> Preview:
    rows = [["name", "size"]]
    with tarfile.open(path) as archive:
        for member in itertools.islice(archive, MEMBERS):
            rows.append([member.name, words.size(member.size) if member.isfile() else "folder"])
    return Preview(
        "table", rows=rows, note=f"The first {MEMBERS} members." if len(rows) > MEMBERS else ""
    )
