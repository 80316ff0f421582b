"""A rehearsed stop: an interruption that comes when a job's log says a certain epoch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from local_cloud.engine.spec import EngineError
from local_cloud.store.records import Records

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


def read(records: Records) -> Rehearsal | None:
    """What is to be rehearsed; None if nothing is."""
    found = records.get(KIND, NAME)
    return Rehearsal(tuple(found["epochs"]), found["job"]) if found else None


def write(records: Records, rehearsal: Rehearsal | None) -> None:
    """Keep it until it is used; None, or one without epochs: there is none."""
    if rehearsal and rehearsal.epochs:
        records.put(KIND, NAME, asdict(rehearsal))
    else:
        records.delete(KIND, NAME)


def checked(epochs: Sequence[object]) -> tuple[int, ...]:
    """The epochs in their order; EngineError for what is none."""
    wanted = [epoch for epoch in epochs if isinstance(epoch, int) and not isinstance(epoch, bool)]
    if len(wanted) < len(epochs) or min(wanted, default=1) < 1:
        raise EngineError("a stop is rehearsed at epochs, which are whole numbers from 1")
    return tuple(sorted(wanted))


class Reader:
    """Reads a growing log for the epochs that its whole lines name."""

    def __init__(self, log: Path, start: int = 0) -> None:
        """start: the byte from which on it is read."""
        self._log, self._place = log, start
        self._rest = b""  # of a line that is not whole yet
        self.epoch = 0  # the highest that was named

    def news(self) -> bool:
        """Read on, a block at most; whether there may be more."""
        try:
            with self._log.open("rb") as file:
                file.seek(self._place)
                block = file.read(BLOCK)
        except FileNotFoundError:
            return False
        self._place += len(block)
        lines, end, rest = (self._rest + block).rpartition(b"\n")
        self._rest = rest[-BLOCK:]
        if found := EPOCH.findall(lines + end):
            self.epoch = max(self.epoch, *map(int, found))
        return len(block) == BLOCK
