"""What a job has written into its metrics.json, as far as a limit; it may have written anything.

docs/history-and-metrics.md says what the console shows of it.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from local_cloud.console.records import job_files
from local_cloud.json_types import Json

LARGEST = 1 << 20  # bytes of a metrics.json that is read
MOST_MEMORY = 1 << 60  # bytes that a replica may say to have used


@lru_cache(maxsize=64)  # a page that is open asks again every few seconds
def read(path: Path, name: str, *, size: int, generation: int) -> Json:
    """Return metrics.json, also from a small archive; {} for another file.

    name, size, generation: the object's.
    """
    content = job_files.text(path, name, wanted="metrics.json", size=size, most=LARGEST)
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        told = {}
    return told if isinstance(told, dict) else {}


def flags(metrics: Json) -> dict[str, str]:
    """Return the value of each flag with which the program ran, its defaults among them."""
    told = metrics.get("configuration")
    return {
        str(name): ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in (told.items() if isinstance(told, dict) else ())
    }


def best_epoch(metrics: Json) -> int | None:
    """Return the epoch whose weights the program has kept; None if it does not say."""
    epochs = metrics.get("epochs")
    epoch = epochs.get("best") if isinstance(epochs, dict) else None
    return epoch if _is_size(epoch) else None


def memory(metrics: Json) -> dict[str, int]:
    """Return the bytes that each replica has used, by its rank as text."""
    listed = metrics.get("replicas")
    by_rank = {}
    for one in listed if isinstance(listed, list) else []:
        held = one.get("bytes") if isinstance(one, dict) else None
        if isinstance(held, dict) and all(map(_is_size, held.values())):
            by_rank[str(one.get("rank"))] = sum(held.values())
    return by_rank


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < MOST_MEMORY
