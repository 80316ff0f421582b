"""How often a spot job of Vertex AI was stopped, as far as the looks at it show."""

from __future__ import annotations

from lesson.jobs.states import RUNNING, STARTING


class Stops:
    """Counts how often a job that ran had to wait for machines again: the service does not say.

    It says when a job first ran: one that waits and has that time was stopped, perhaps unseen.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.count = 0
        self._ran = False

    def note(self, state: str, started: bool = False) -> int:
        """Return how many there were, now that the job is in this state; started: it has run."""
        unseen = started and not self.count
        self.count += state == STARTING and (self._ran or unseen)
        self._ran = state == RUNNING or (self._ran and state != STARTING)
        return self.count
