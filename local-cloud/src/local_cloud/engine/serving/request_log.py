"""Which requests a deployment has answered: a line of JSON for each, in its folder."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from local_cloud.engine.logs import job_files

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
        written = job_files.stat_log(self._path)
        if written and written.st_size > LARGEST:
            self._path.replace(self._path.with_name(f"{NAME}.1"))
        if job_files.is_replaced(self._path):  # by a model's process: nobody writes through a link
            self._path.unlink()
        lines, self._lines = self._lines, []
        with job_files.open_log(self._path, "ab") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())


@functools.lru_cache(maxsize=64)
def _quote(path: str) -> str:
    """Return a path as JSON has it: a deployment has one or two."""
    return json.dumps(path)
