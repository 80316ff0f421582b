"""Many clients send many jobs at once, and look at them all the time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from testing.tally import Tally
from tests.torture.rig import PARENT, Rig

CLIENTS = 10
JOB = ["python", "-c", "print('done')"]


def run(folder: Path, seconds: float) -> Tally:
    """Send as many jobs as end in about that long: two thirds of it are for sending."""
    tally = Tally("load")
    with Rig(folder / "load", tally) as rig:
        end = time.monotonic() + seconds
        most = max(2, int(seconds / CLIENTS))  # of each client: a second for each job
        sent: list[str] = []
        problems: list[str] = []

        def client(number: int) -> None:
            try:
                for count in range(most):
                    if count % 2:
                        sent.append(rig.train(f"load-{number}-{count}", JOB))
                    else:
                        sent.append(rig.send(JOB))
                    rig.get(f"{PARENT}/customJobs")
                    rig.sagemaker("ListTrainingJobs", {})
                    rig.state(sent[-1])
            except OSError as problem:
                problems.append(f"client {number}: {problem}")

        clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        for problem in problems:
            tally.breaks(problem)
        for job in sent:
            state = rig.wait(job, max(20.0, end - time.monotonic()))
            tally.check(state == "JOB_STATE_SUCCEEDED", f"{job}: {state}")
    return tally
