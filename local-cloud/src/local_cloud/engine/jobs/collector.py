"""Collect the results of one job in a thread, until all are collected or the job is stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

from local_cloud.engine.spec import Job, Outcome, State
from local_cloud.store.interruption import Interrupted, interruptible

# Seconds in which the results of a job are brought away that has been stopped, or that the
# server's own end cuts off: others wait.
OF_STOPPED, OF_LOST = 60.0, 3.0


class Collector:
    """The work on one job's results."""

    def __init__(self) -> None:
        """Prepare; run() does the work."""
        self._stopping = threading.Event()
        self._instead: Outcome | None = None

    def stop(self, instead: Outcome | None = None) -> None:
        """Stop after the current piece of a file; instead: the outcome if the job had succeeded."""
        self._instead = self._instead or instead
        self._stopping.set()

    async def run(self, collect: Callable[[Job], None], job: Job) -> Outcome:
        """Collect, and return how the job ended; raises what collect raises, except Interrupted."""
        assert job.outcome
        timers = [
            asyncio.get_running_loop().call_later(seconds, self.stop)
            for reason, seconds in (("stopped", OF_STOPPED), ("lost", OF_LOST))
            if job.outcome.reason == reason
        ]
        try:
            with interruptible(self._stopping):
                await asyncio.to_thread(collect, job)
        except Interrupted:
            return self._outcome_if_incomplete(job.outcome)
        finally:
            for timer in timers:
                timer.cancel()
        return job.outcome

    def _outcome_if_incomplete(self, outcome: Outcome) -> Outcome:
        """Return the outcome when not all results have been collected."""
        if outcome.state is State.SUCCEEDED and self._instead:
            outcome = self._instead
        return replace(outcome, message=f"{outcome.message} Not all of its results were kept.")
