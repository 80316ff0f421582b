"""What a job has written into its metrics.json, as far as a limit; it may have written anything."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from local_cloud.bounded import files, process
from local_cloud.bounded.errors import CannotRead
from local_cloud.console.files import archive_contents

Json = dict[str, Any]
LARGEST_ARCHIVE = 16 << 20  # that is looked into
LARGEST = 1 << 20  # bytes of a metrics.json that is read
MOST_MEMORY = 1 << 60  # bytes that a replica may say to have used


@lru_cache(maxsize=64)  # a page that is open asks again every few seconds
def read(path: Path, name: str, *, size: int, generation: int) -> Json:
    """Return metrics.json, also from a small archive; {} for another file.

    name, size, generation: the object's.
    """
    try:
        if not name.endswith(".gz"):
            told = json.loads(files.read(path, LARGEST))
        elif size <= LARGEST_ARCHIVE:
            arguments = (str(path), "metrics.json", LARGEST)
            told = json.loads(process.call(archive_contents.text_in_tar, *arguments))
        else:
            told = {}
    except (OSError, ValueError, RecursionError, CannotRead):
        told = {}
    return told if isinstance(told, dict) else {}


def memory(metrics: Json) -> dict[str, int]:
    """Return the bytes that each replica has used, by its rank as text."""
    listed = metrics.get("replicas")
    found = {}
    for one in listed if isinstance(listed, list) else []:
        held = one.get("bytes") if isinstance(one, dict) else None
        if isinstance(held, dict) and all(map(_is_size, held.values())):
            found[str(one.get("rank"))] = sum(held.values())
    return found


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < MOST_MEMORY
