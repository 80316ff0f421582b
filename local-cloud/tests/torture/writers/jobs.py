"""Jobs of both clouds: each that was acknowledged is there, and ends."""

from __future__ import annotations

import time

from testing.tally import Tally
from tests.torture.rig import ENDED
from tests.torture.writers.acknowledgements import Key
from tests.torture.writers.writer import Writer

JOB = ["python", "-c", "import time; time.sleep(0.2); print('done')"]
PAUSE = 1.0  # seconds between two jobs: each takes longer than what others write
PATIENCE = 60.0  # seconds for the jobs to end when nothing is killed any more


class JobWriter(Writer):
    """A job's value is that it is there."""

    kind = "job"

    def write(self, count: int) -> None:
        """Send a job to one cloud, the next one to the other."""
        if count % 2:
            self.acknowledged.keep(self.rig.send(JOB), True)
        else:
            name = f"kill-{self.number}-{count}"
            with self.acknowledged.write({name: True}):
                self.rig.train(name, JOB)
        self.stopped.wait(PAUSE)

    def compare(self, tally: Tally) -> None:
        """Wait for each job."""
        end = time.monotonic() + PATIENCE
        late: list[Key] = []

        def find(job: Key) -> object:
            state = self.rig.wait(str(job), max(0.0, end - time.monotonic()))
            if state not in (*ENDED, "missing"):
                late.append(job)
            return None if state == "missing" else True

        self.acknowledged.compare(find, tally)
        tally.check(not late, f"jobs have not ended: {late[:5]}")
