"""What a file of a bucket holds, shown without running any of it.

Nothing of a bucket is ever sent as HTML, and nothing is unpickled: a preview is text, a table, a
list of names, or a picture whose first bytes say that it is one.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_cloud.bounded import files, process
from local_cloud.bounded.errors import CannotRead, DamagedFile
from local_cloud.console.files import archive_contents, picture_size
from local_cloud.console.site import words

SHOWN = 1 << 16  # bytes of a text
ROWS, COLUMNS = 100, 40  # of a table
LARGEST_JSON = 1 << 20
LONGEST_PRETTY = 4 << 20  # characters of JSON with its lines indented
READERS = {
    (".npz", ".zip"): archive_contents.of_zip,
    (".tar.gz", ".tgz", ".tar"): archive_contents.of_tar,
}
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


def picture_type(path: Path) -> str:
    """Return the type of a picture, by its first bytes; "" for what is none that is shown."""
    with path.open("rb") as file:
        head = file.read(16)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in PICTURES.items() if head.startswith(magic)), "")


def of(path: Path, name: str, size: int) -> Preview:
    """Return what can be shown of a file; name: the object's."""
    if picture_type(path):
        return _picture(path)
    for endings, reader in READERS.items():
        if name.endswith(endings):
            return _archive(path, reader)
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
        text, note = files.read(path, LARGEST_JSON).decode(errors="replace"), ""
    if name.endswith(".json") and not note:
        return Preview("text", _pretty(text))
    return Preview("text", text, note=note)


def _picture(path: Path) -> Preview:
    """Show a picture that a browser can, or say why it is not shown."""
    try:
        process.call(picture_size.check, str(path))
    except DamagedFile:
        return Preview(
            "none", note="Its first bytes are those of a picture, but the rest is damaged."
        )
    except CannotRead as problem:
        return Preview("none", note=f"Cannot be shown: {problem}.")
    return Preview("picture")


def _archive(path: Path, reader: Callable[[str], Any]) -> Preview:
    """Show the members of an archive, read in a process with limits."""
    try:
        rows, note = process.call(reader, str(path))
    except DamagedFile as problem:
        return Preview(
            "none", note=f"Its name is that of an archive, but it cannot be read as one: {problem}"
        )
    except CannotRead as problem:
        return Preview("none", note=f"Cannot be shown: {problem}.")
    return Preview("table", rows=rows, note=note)


def _pretty(text: str) -> str:
    """Indent JSON for a reader.

    Return it as it is if it is none, or if it would become too long.
    """
    try:
        encoder = json.JSONEncoder(indent=2, ensure_ascii=False)
        made, length = [], 0
        for piece in encoder.iterencode(json.loads(text)):
            made.append(piece)
            length += len(piece)
            if length > LONGEST_PRETTY:
                return text
    except (ValueError, RecursionError):
        return text
    return "".join(made)


def _table(text: str, delimiter: str, note: str) -> Preview:
    try:
        rows = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=delimiter), ROWS + 1))
    except csv.Error:
        return Preview("text", text, note=note)
    if len(rows) > ROWS:
        note = f"The first {ROWS} rows."
    width = min(max((len(row) for row in rows), default=0), COLUMNS)
    rows = [[*row[:width], *[""] * (width - len(row))] for row in rows]
    return Preview("table", rows=rows, note=note)
