"""Find damage to the file of records when the server starts, before anything uses it.

The check reads a copy, because SQLite repairs what it opens: it drops the end of a log
that it cannot read, and the log itself when it closes the file.
"""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path

from local_cloud.store.errors import DamagedStore, NoSpace

# The header of SQLite's index of its log, which is written twice (sqlite.org/walformat.html, 2.1).
_HEADER = struct.Struct("=I12xI28x")  # format, number of the last frame that is committed
_FORMAT = 3_007_000
FULL = (errno.ENOSPC, errno.EDQUOT)


def require_whole(path: Path) -> None:
    """Raise DamagedStore unless every document in the file and in its log can be read."""
    log = beside(path, "-wal")
    if beside(path, "-shm").is_dir():
        raise damage_error(path, f"{path.name}-shm is a folder")
    if not path.exists() and not log.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        for source, target in ((path, copy), (log, beside(copy, "-wal"))):
            if source.exists() or source == path:
                _copy(path, source, target)
        try:
            with closing(sqlite3.connect(copy)) as database:
                _look(path, database)
        except sqlite3.DatabaseError as problem:
            raise damage_error(path, str(problem)) from None


def damage_error(path: Path, why: str) -> DamagedStore:
    """Return an error that names the file, and what to do about it."""
    folder = path.parent
    return DamagedStore(
        f"{path} is damaged ({why}): put back a copy of it, or start without any records by"
        f" `mv '{folder}' '{folder}.damaged'`; the objects of your buckets are plain files there,"
        " in buckets and s3-buckets"
    )


def beside(path: Path, ending: str) -> Path:
    """Return the path of a file that SQLite keeps beside its own."""
    return path.with_name(path.name + ending)


def _copy(path: Path, source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as problem:
        if problem.errno in FULL:  # of the folder for temporary files: nothing is wrong with this
            raise NoSpace(
                f"{path} cannot be checked ({problem.strerror}): make room in"
                f" {target.parent.parent}, or name another folder in TMPDIR, then start again"
            ) from None
        raise damage_error(path, f"{source.name}: {problem.strerror or problem}") from None


def _look(path: Path, database: sqlite3.Connection) -> None:
    (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise damage_error(path, said.partition("\n")[2] or said)
    _, readable_pages, _ = database.execute("PRAGMA wal_checkpoint").fetchone()
    if readable_pages < (noted := _count_pending_pages(path)):
        raise damage_error(
            path, f"of {noted} pages in {path.name}-wal only {max(readable_pages, 0)} can be read"
        )
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'record'").fetchone():
        return
    for kind, name, text in database.execute("SELECT kind, name, document FROM record"):
        try:
            if type(json.loads(text)) is not dict:
                raise ValueError("not a JSON object")
        except (ValueError, TypeError):
            raise damage_error(path, f"the record of {kind} {name} is not a JSON object") from None


def _count_pending_pages(path: Path) -> int:
    """Return how many committed pages of the log a killed process had not yet put into the file."""
    try:
        index = beside(path, "-shm").read_bytes()
    except OSError:
        return 0
    size = _HEADER.size
    if len(index) < 2 * size + 4 or index[:size] != index[size : 2 * size]:
        return 0
    version, frames = _HEADER.unpack_from(index)
    (moved,) = struct.unpack_from("=I", index, 2 * size)  # pages that are in the file already
    return frames if version == _FORMAT and moved < frames else 0
