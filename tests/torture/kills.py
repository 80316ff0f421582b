"""The server is killed while clients write and send jobs: nothing acknowledged may be lost."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

from tests.torture.rig import ENDED, PARENT, Rig, processes
from tests.torture.tally import Tally

KILLS = 100  # at most; fewer where there is no time for so many
WRITERS = 3
JOB = ["python", "-c", "import time; time.sleep(0.2); print('done')"]


class Writer(threading.Thread):
    """A client that writes objects to both clouds and sends jobs until it is told to stop."""

    def __init__(self, rig: Rig, number: int) -> None:
        super().__init__(daemon=True)
        self.rig, self.number, self.stopped = rig, number, threading.Event()
        self.objects: dict[str, bytes] = {}  # acknowledged, by their path
        self.unsure: set[str] = set()  # sent, and not acknowledged
        self.jobs: list[str] = []

    def run(self) -> None:
        chosen, count = random.Random(self.number), 0
        while not self.stopped.is_set():
            count += 1
            key = f"w{self.number}/{count % 200}"
            content = f"{self.number} {count} ".encode() * chosen.choice([1, 100, 20_000])
            try:
                self._write(key, content)
                if count % 40 == 0:
                    self.jobs.append(self.rig.send(JOB))
                elif count % 40 == 20:
                    name = f"kill-{self.number}-{count}-{time.monotonic_ns()}"
                    self.jobs.append(self.rig.train(name, JOB))
            except OSError:
                time.sleep(0.02)  # the server is away

    def _write(self, key: str, content: bytes) -> None:
        for method, path in (
            ("PUT", f"/aws/torture/{key}"),
            ("POST", f"/upload/storage/v1/b/torture/o?uploadType=media&name={key}"),
        ):
            where = reading(path)
            self.unsure.add(where)
            status, _ = self.rig.ask(method, path, content)
            if status == 200:
                self.objects[where] = content
                self.unsure.discard(where)


def reading(path: str) -> str:
    """Where an object that was written to this path is read."""
    if path.startswith("/aws"):
        return path
    return f"/storage/v1/b/torture/o/{path.partition('name=')[2].replace('/', '%2F')}?alt=media"


def run(folder: Path, seconds: float) -> Tally:
    """Kill, restart and compare for about that long."""
    tally = Tally("kills")
    with Rig(folder / "kills", tally) as rig:
        writers = [Writer(rig, number) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        chosen, end, kills = random.Random(0), time.monotonic() + seconds * 0.85, 0
        while kills < KILLS and time.monotonic() < end:
            time.sleep(chosen.uniform(0.1, 0.7))
            rig.kill()
            kills += 1
            rig.start()
        for writer in writers:
            writer.stopped.set()
        for writer in writers:
            writer.join(90)
        tally.survives(kills)
        tally.done = f"{kills} kills"
        print(f"  {kills} kills; comparing", flush=True)
        for writer in writers:
            _compare(rig, writer, tally)
        _end(rig, [job for writer in writers for job in writer.jobs], seconds, tally)
    tally.check(not processes(rig), f"processes are left behind: {processes(rig)}")
    return tally


def _compare(rig: Rig, writer: Writer, tally: Tally) -> None:
    for path, content in writer.objects.items():
        status, found = rig.ask("GET", path)
        whole = found == content
        if not whole and path in writer.unsure and status == 200:
            # Written again, and killed before it was said so: then that one is whole.
            start = b" ".join(found.split(b" ")[:2]) + b" "
            whole = start.startswith(b"%d " % writer.number) and not found.replace(start, b"")
        if whole:
            tally.survives()
        else:
            tally.loses(f"{path}: {status}, {len(found)} of {len(content)} bytes")


def _end(rig: Rig, jobs: list[str], seconds: float, tally: Tally) -> None:
    """Every acknowledged job is there, and ends."""
    end = time.monotonic() + max(30.0, seconds * 0.15)
    for job in jobs:
        try:
            state = rig.wait(job, max(0.0, end - time.monotonic()))
        except (OSError, KeyError) as problem:
            tally.loses(f"{job}: {problem}")
            continue
        if state == "missing":
            tally.loses(f"{job} is not there")
        elif state in ENDED:
            tally.survives()
        else:
            tally.breaks(f"{job} has not ended: {state}")
    status, _ = rig.ask("GET", f"{PARENT}/customJobs")
    tally.check(status == 200, f"the list of jobs: {status}")
