"""The one door from what a job has written to answers, pages and records.

A job may put anything in the place of a file that the local cloud looks at: a link to a file of
yours, a pipe, its whole environment, in which the secret is. So such a file is opened here, or it
is not opened: no link is followed in any part of its path below the job's folder, and it must be a
regular file with a single name, because a second name may be that of a file of yours. Texts are
bounded, and masked before they are cut. What comes by another way (objects in buckets, answers of
served models) is masked here too. tests/engine/logs/test_job_files.py lists all ways.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from io import FileIO
from pathlib import Path, PurePosixPath

from local_cloud.store import files, trees

# So long is what is masked, at most; as much more is read of a text, to see all of what is cut.
LONGEST_MASKED = 4096
# An access key's id, and what follows the name of a secret key or of a session's token: IAM's user
# guide, "IAM identifiers", and the SDKs' configuration files (read 2026).
AWS_KEYS = re.compile(
    rb"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Z0-9])"
    rb"|(?i:(secret_?access_?key[\"' ]{0,3}[=:][\"' ]{0,3}))[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
    rb"|(?i:(session_?token[\"' ]{0,3}[=:][\"' ]{0,3}))[A-Za-z0-9/+=]{100,2048}"
)
# One of these is in whatever AWS_KEYS finds: to look for a word is a hundred times as fast.
SIGNS = (b"AKIA", b"ASIA", b"ACCESS", b"SESSION")
TEXT_SIGNS = tuple(sign.decode() for sign in SIGNS)


class NotItsOwn(FileNotFoundError):
    """In the place of a job's file there is something else; nothing of it is read or written."""

    def __init__(self, name: str) -> None:
        """name: the file's, or that of a folder above it."""
        super().__init__(errno.ENOENT, "not the job's own", name)

    def __str__(self) -> str:
        """Say what was found: a job's outcome may have it."""
        return f"the job has put something else in the place of its file or folder {self.filename}"


def open_own(root: Path, below: str, mode: str = "rb") -> FileIO:
    """Open a file that a job may have made, as open() does without a buffer.

    root: a folder whose own path no job can change; below: the file's path in it. NotItsOwn: it is
    a link, a pipe or a folder, is below a link, has a second name, or may not be opened.
    FileNotFoundError: it is not there.
    """
    *folders, name = PurePosixPath(below).parts
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folders:
            above, folder = folder, _open_folder(part, folder)
            os.close(above)
        return FileIO(name, mode, opener=lambda name, flags: _open_file(name, flags, folder))
    finally:
        os.close(folder)


def _open_folder(name: str, above: int) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=above)
    except (NotADirectoryError, PermissionError):
        raise NotItsOwn(name) from None
    except OSError as problem:
        if problem.errno in files.NOT_REGULAR:
            raise NotItsOwn(name) from None
        raise


def _open_file(name: str, flags: int, folder: int) -> int:
    try:
        # What is there is emptied only when it is known what it is.
        descriptor = files.open_regular(name, flags & ~os.O_TRUNC, folder=folder)
    except PermissionError:
        raise NotItsOwn(name) from None
    except FileNotFoundError:
        if _is_there(name, folder):
            raise NotItsOwn(name) from None
        raise
    if os.fstat(descriptor).st_nlink > 1:
        os.close(descriptor)
        raise NotItsOwn(name)
    if flags & os.O_TRUNC:
        os.truncate(descriptor, 0)
    return descriptor


def _is_there(name: str, folder: int) -> bool:
    with suppress(OSError):
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        return True
    return False


def is_folder(root: Path, below: str) -> bool:
    """Return whether a folder below another one is there, and no link leads to it."""
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        for part in PurePosixPath(below).parts:
            above = folder
            try:
                folder = _open_folder(part, above)
            finally:
                os.close(above)
    except OSError:
        return False
    os.close(folder)
    return True


def remove(root: Path, folder: Path) -> None:
    """Remove a folder, with all that is in it, unless a link below `root` leads to it."""
    if not folder.is_relative_to(root) or is_folder(root, str(folder.relative_to(root))):
        trees.remove(folder)


def open_log(log: Path, mode: str = "rb") -> FileIO:
    """Open the log of a replica, or a file beside it; raises what open_own does."""
    return open_own(log.parent.parent, f"{log.parent.name}/{log.name}", mode)


def stat_log(log: Path) -> os.stat_result | None:
    """Return what a log is; None if there is none, or something else in its place."""
    try:
        with open_log(log) as file:
            return os.fstat(file.fileno())
    except FileNotFoundError:
        return None


def is_replaced(log: Path) -> bool:
    """Return whether something else is in the place of a log."""
    try:
        open_log(log).close()
    except FileNotFoundError as problem:
        return isinstance(problem, NotItsOwn)
    return False


def append_line(log: Path, line: str) -> None:
    """Add a line to a log, if it can take one: the disk may be full."""
    with suppress(OSError), open_log(log, "ab") as file:
        file.write(f"{line}\n".encode())


def read(root: Path, below: str, *, most: int, hidden: bytes, end: bool = False) -> str:
    """Return the first (or with `end` the last) bytes of a job's file, masked, as text.

    "" if it is not there or not the job's own. hidden: a text that nobody is to read in it.
    """
    try:
        with open_own(root, below) as file:
            if end:
                file.seek(max(0, file.seek(0, os.SEEK_END) - most - LONGEST_MASKED))
            content = mask_bytes(file.read(most + LONGEST_MASKED), hidden)
    except OSError:
        return ""
    return (content[-most:] if end else content[:most]).decode(errors="replace")


def mask(text: str, hidden: bytes) -> str:
    """Return a text with stars in the place of what nobody is to read; it stays as long as it was.

    That is `hidden`, and the keys of an account at AWS.
    """
    upper = text.upper()
    if hidden.decode() not in text and not any(sign in upper for sign in TEXT_SIGNS):
        return text  # as nearly every line of a log
    return mask_bytes(text.encode(errors="surrogatepass"), hidden).decode(errors="surrogatepass")


def mask_bytes(content: bytes, hidden: bytes) -> bytes:
    """Return some bytes as mask() returns a text."""
    content = hide(content, hidden)
    upper = content.upper()
    return AWS_KEYS.sub(_stars, content) if any(sign in upper for sign in SIGNS) else content


def _stars(match: re.Match[bytes]) -> bytes:
    before = match[1] or match[2] or b""
    return before + stars(len(match[0]) - len(before))


def hide(content: bytes, hidden: bytes) -> bytes:
    """Return some bytes with stars in the place of this text alone."""
    return content.replace(hidden, stars(len(hidden))) if hidden else content


def stars(length: int) -> bytes:
    """Return what is shown in the place of so many bytes."""
    return b"SECRET".ljust(length, b"*")[:length]
