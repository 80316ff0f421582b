"""The service in a process that a test kills: `python -m … FOLDER STEP` says when it is so far."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from local_cloud.engine.jobs import attempt_runner
from tests.amazon.sagemaker.support import running

# Takes long to end, and says which process it is.
STAYS = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(600)
"""
BIG = "import os; open('/opt/ml/model/weights', 'wb').write(os.urandom(200_000_000))"


# Ends at once when it is told to, so that it waits to be started again.
GOES = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
SCRIPTS = {"Training": STAYS, "Uploading": BIG, "Interrupted": STAYS, "Starting": GOES}
SPOT = {
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 600},
}


async def main(folder: Path, step: str) -> None:
    attempt_runner.PAUSE = 600
    async with running(folder, cores=1) as sagemaker:
        sagemaker.send("first", SCRIPTS[step], **SPOT)
        sagemaker.send("second", "open('/opt/ml/model/x', 'w').close()")
        if step in ("Interrupted", "Starting"):
            log = sagemaker.engine.log("first", "algo-1")
            while not log.exists() or log.read_text().count("\n") < 2:
                await asyncio.sleep(0.01)
            assert sagemaker.engine.interrupt("first", "taken away")
        while True:
            job = sagemaker("DescribeTrainingJob", TrainingJobName="first")
            log = sagemaker.engine.log("first", "algo-1")
            if job["SecondaryStatus"] == step and (
                step == "Uploading" or log.read_text().count("\n") > 1
            ):
                break
            await asyncio.sleep(0.01)
        print(step, flush=True)
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
