"""Stop a job that writes more into its own folder than there is room for."""

from __future__ import annotations

import asyncio
from pathlib import Path

from local_cloud.engine.jobs.attempt_runner import AttemptRunner
from local_cloud.engine.spec import Outcome, State
from local_cloud.store.space import GB, RESERVE, VARIABLE, Space, size

PERIOD = 3.0  # seconds between two looks


async def watch_space(run: AttemptRunner, folder: Path, space: Space) -> None:
    """Look every few seconds how much is in the job's folder; end the job if that is too much."""
    while True:
        await asyncio.sleep(PERIOD)
        if why := await asyncio.to_thread(excess, folder, space):
            message = f"The job had written {why}, and was stopped."
            run.decide(Outcome(State.FAILED, "space", message))


def excess(folder: Path, space: Space) -> str:
    """Return how much is in the folder and why that is too much; "" if it is not."""
    held = size(folder)
    if held > space.most:
        return f"{held / GB:.3g} GB, more than {VARIABLE} allows ({space.most / GB:g} GB)"
    if held > RESERVE and space.free() < 0:
        return f"{held / GB:.3g} GB, and less than {RESERVE / GB:g} GB of the disk is left"
    return ""
