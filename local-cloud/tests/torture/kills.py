"""Server and query process are killed while clients write: nothing acknowledged may be lost.

A kill is nothing that is tried: what was written and is there is what counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path

from testing.tally import Tally
from tests.torture.rig import PARENT, Rig, processes
from tests.torture.writers.jobs import JobWriter
from tests.torture.writers.models import ModelWriter
from tests.torture.writers.objects import ObjectWriter
from tests.torture.writers.rows import StatementWriter, StreamWriter
from tests.torture.writers.studies import StudyWriter
from tests.torture.writers.writer import Writer

WRITERS: tuple[type[Writer], ...] = (
    ObjectWriter,
    ObjectWriter,
    JobWriter,
    ModelWriter,
    StudyWriter,
    StreamWriter,
    StreamWriter,
    StatementWriter,
    StatementWriter,
)
SHORTEST, LONGEST = 0.02, 2.0  # seconds between two kills, as often around 0.04 as around 1
OF_QUERIES = 0.6  # of the kills are of the query process


def run(folder: Path, seconds: float, kinds: Sequence[type[Writer]] = WRITERS) -> Tally:
    """Kill, restart and compare for about that long; kinds: of the clients."""
    tally = Tally("kills")
    with Rig(folder / "kills", tally) as rig:
        writers = [kind(rig, number) for number, kind in enumerate(kinds, 1)]
        for writer in writers:
            writer.prepare()
        for writer in writers:
            writer.start()
        servers, queries = _kill(rig, time.monotonic() + seconds * 0.85)
        for writer in writers:
            writer.stopped.set()
        for writer in writers:
            writer.join(90)
        writes = sum(writer.acknowledged.writes for writer in writers)
        tally.done = (
            f"{servers} kills of the server, {queries} of the query process,"
            f" {writes} acknowledged writes"
        )
        print(f"  {tally.done}; comparing", flush=True)
        for writer in writers:
            writer.compare(tally)
            for answer in sorted(writer.refused):
                tally.breaks(answer)
        status, _ = rig.ask("GET", f"{PARENT}/customJobs")
        tally.check(status == 200, f"the list of jobs: {status}")
    tally.check(not processes(rig), f"processes are left behind: {processes(rig)}")
    return tally


def _kill(rig: Rig, end: float) -> tuple[int, int]:
    """Kill one or the other until then; how often the server and the query process."""
    chosen, servers, queries = random.Random(0), 0, 0
    while time.monotonic() < end:
        time.sleep(SHORTEST * (LONGEST / SHORTEST) ** chosen.random())
        if chosen.random() < OF_QUERIES:
            queries += rig.kill_queries()
        else:
            rig.kill()
            servers += 1
            rig.start()
    return servers, queries
