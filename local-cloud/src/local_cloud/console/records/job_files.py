"""The text of a file that a job has written, from its results or from where it still writes them.

The job may have written anything there: what cannot be read, or not within the limits, is no text.
"""

from __future__ import annotations

from pathlib import Path

from local_cloud.bounded import files, process
from local_cloud.bounded.errors import CannotRead
from local_cloud.console.files import archive_contents

LARGEST_ARCHIVE = 16 << 20  # that is looked into


def text(path: Path, name: str, *, wanted: str, size: int, most: int) -> str:
    """Return what the file `wanted` holds, also from a small archive; "" if it cannot be read.

    name, size: the object's, in bytes. most: bytes of the file.
    """
    try:
        if not name.endswith(".gz"):
            return files.read(path, most).decode(errors="replace")
        if size <= LARGEST_ARCHIVE:
            return str(process.call(archive_contents.text_in_tar, str(path), wanted, most))
    except (OSError, CannotRead):
        pass
    return ""
