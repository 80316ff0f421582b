"""What both clouds' jobs have in common for the suite, and the table that every job finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

DATA = "strangers-data"  # the bucket of this name in either cloud holds table/data.csv
ROWS = "a,b,c,target\n" + "".join(f"{n % 5},{n / 60:.4f},{-n},{n % 2}\n" for n in range(60))
ENDED = ("succeeded", "failed", "stopped")


class Look(NamedTuple):
    """How a job stands: queued, running, or one of ENDED; and the service's message."""

    state: str
    message: str = ""


class Sent(ABC):
    """A script that was sent somewhere."""

    job: str  # its name; "" while a study has started none for it

    @abstractmethod
    def look(self) -> Look:
        """How its job stands."""

    @abstractmethod
    def over(self) -> bool:
        """Whether it has ended, a trial's study too."""

    @abstractmethod
    def cancel(self) -> None:
        """Ask for its end."""

    @abstractmethod
    def log(self) -> str:
        """What all its replicas have written so far."""

    @abstractmethod
    def model(self) -> dict[str, bytes]:
        """The files in its model's folder."""

    def read(self, folder: Path) -> str:
        """The logs in a job's folder."""
        return "".join(log.read_text(errors="replace") for log in sorted(folder.glob("*.log")))
