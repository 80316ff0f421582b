"""A server for tests to kill: `python serve.py FOLDER JOBS` with JOBS as {"id": [command, …]}.

Sends the jobs, one replica per command, prints the reaper's process id, and serves until it dies.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from tests.engine.support import Cloud, engine, plan


async def serve(folder: Path, jobs: dict[str, list[list[str]]]) -> None:
    plans = {name: plan(*map(tuple, commands), grace=0.5) for name, commands in jobs.items()}
    async with engine(folder, Cloud(**plans), cores=1) as here:
        for name, commands in jobs.items():
            here.submit("cloud", name, len(commands))
        print(here.reaper.pid, flush=True)
        await asyncio.Event().wait()


asyncio.run(serve(Path(sys.argv[1]), json.loads(sys.argv[2])))
