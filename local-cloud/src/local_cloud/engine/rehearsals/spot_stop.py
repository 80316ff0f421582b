"""A rehearsed stop: an interruption that comes when a job's log says a certain epoch."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from io import FileIO

from local_cloud.engine.spec import EngineError
from local_cloud.store import holes
from local_cloud.store.records import NOT_WRITTEN, Records

KIND = "rehearsal"
NAME = "next"  # there is one at a time
EPOCH = re.compile(rb"\bepoch\s+(\d{1,18})")
BLOCK = 1 << 20  # bytes of a log read at once; a longer line is not looked at as a whole
PERIOD = 0.05  # seconds between two looks at a log


@dataclass(frozen=True)
class Rehearsal:
    """The epochs at which one job is to be interrupted, the first one first."""

    epochs: tuple[int, ...]
    job: str = ""  # the one that has been interrupted already: the other epochs are its too


class Rehearsals:
    """The one rehearsal that is to come, or under way; it is on the disk."""

    def __init__(self, records: Records) -> None:
        """Take up what an earlier server has left, unless its job had begun to use it."""
        self._records = records
        document = records.get(KIND, NAME)
        self.wanted = Rehearsal(tuple(document["epochs"]), document["job"]) if document else None
        if self.wanted and self.wanted.job:
            self.forget(self.wanted.job)

    def keep(self, wanted: Rehearsal) -> None:
        """Keep it until it is used; one without epochs: there is none. Raises NOT_WRITTEN."""
        if wanted.epochs:
            self._records.put(KIND, NAME, asdict(wanted))
        else:
            self._records.delete(KIND, NAME)
        self.wanted = wanted if wanted.epochs else None

    def find_due_epoch(self, job_id: str, epoch: int) -> int | None:
        """Return the epoch at which this job, which has got to `epoch`, is to be interrupted."""
        wanted = self.wanted
        if not wanted or wanted.job not in ("", job_id) or epoch < wanted.epochs[0]:
            return None
        return wanted.epochs[0]

    def use(self, job_id: str) -> None:
        """Give up the epoch that is due: no stop is rehearsed twice. Raises NOT_WRITTEN."""
        assert self.wanted
        self.keep(Rehearsal(self.wanted.epochs[1:], job_id))

    def forget(self, job_id: str) -> None:
        """Give up what this job has not used."""
        if self.wanted and self.wanted.job == job_id:
            self.wanted = None
            with contextlib.suppress(*NOT_WRITTEN):  # on a full disk the next start forgets it
                self._records.delete(KIND, NAME)


def parse_epochs(epochs: Sequence[object]) -> tuple[int, ...]:
    """Check the epochs, and return them in their order; EngineError for what is none."""
    wanted = [epoch for epoch in epochs if isinstance(epoch, int) and not isinstance(epoch, bool)]
    if len(wanted) < len(epochs) or min(wanted, default=1) < 1:
        raise EngineError("a stop is rehearsed at epochs, which are whole numbers from 1")
    return tuple(sorted(wanted))


class Reader:
    """Reads a growing log for the epochs that its whole lines name."""

    def __init__(self, open_log: Callable[[], FileIO], start: int = 0) -> None:
        """open_log: opens the log, or raises FileNotFoundError; start: the byte to begin at."""
        self._open, self._place = open_log, start
        self._rest = b""  # of a line that is not whole yet
        self.epoch = 0  # the highest that was named

    def news(self) -> bool:
        """Read on, a block at most, and no hole; whether there may be more."""
        try:
            with self._open() as file:
                size = os.fstat(file.fileno()).st_size
                self._place = holes.next_data(file.fileno(), self._place, size)
                file.seek(self._place)
                block = file.read(BLOCK)
        except FileNotFoundError:
            return False
        self._place += len(block)
        lines, end, rest = (self._rest + block).rpartition(b"\n")
        self._rest = rest[-BLOCK:]
        if b"epoch" in lines and (epochs := EPOCH.findall(lines + end)):
            self.epoch = max(self.epoch, *map(int, epochs))
        return len(block) == BLOCK
