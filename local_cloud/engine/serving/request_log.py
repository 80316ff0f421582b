"""Which requests a deployment has answered: a line of JSON for each, in its folder."""

from __future__ import annotations

import functools
import json
from pathlib import Path

NAME = "requests.jsonl"
LARGEST = 4 << 20  # bytes; then a new file begins, and one old file is kept


class RequestLog:
    """The log of one deployment; what is written comes to the disk with flush()."""

    def __init__(self, folder: Path) -> None:
        """folder: the deployment's."""
        self._path = folder / NAME
        self._lines: list[str] = []

    def write(self, time: float, seconds: float, *, status: int, path: str) -> None:
        """Note a request; time: when it came, in seconds since the epoch."""
        numbers = f'"time": {time:.3f}, "seconds": {seconds:.6f}, "status": {status}'
        self._lines.append(f'{{{numbers}, "path": {_quote(path)}}}')

    def flush(self) -> None:
        """Write what has been noted; raises OSError."""
        if not self._lines:
            return
        if self._path.exists() and self._path.stat().st_size > LARGEST:
            self._path.replace(self._path.with_name(f"{NAME}.1"))
        lines, self._lines = self._lines, []
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))


@functools.lru_cache(maxsize=64)
def _quote(path: str) -> str:
    """Return a path as JSON has it: a deployment has one or two."""
    return json.dumps(path)
