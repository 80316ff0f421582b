"""The states of jobs, studies and trials: one vocabulary for both clouds.

A service's own word stays visible beside it, so that the reader finds it in the service's pages.
"""

from __future__ import annotations

QUEUED = "queued"  # waits for its turn, or for machines
STARTING = "starting"  # machines are found and made ready
RUNNING = "running"
SUCCEEDED = "succeeded"
FAILED = "failed"
CANCELLING = "cancelling"  # asked to end, but has not
CANCELLED = "cancelled"  # by the user, or by a limit that the user set
ENDED = (SUCCEEDED, FAILED, CANCELLED)


def with_word(state: str, word: str) -> str:
    """Return the state, and the service's own word in parentheses if it is another.

    >>> with_word("succeeded", "Completed"), with_word("succeeded", "SUCCEEDED")
    ('succeeded (Completed)', 'succeeded')
    """
    return state if word.lower() in ("", state) else f"{state} ({word})"
