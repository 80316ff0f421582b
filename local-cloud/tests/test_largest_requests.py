"""No request holds up the others: the largest one of each service, beside a watch on the loop."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import largest_requests
from tests.largest_requests import CASES, Case
from tests.loop_watch.sitecustomize import SIZE
from tests.torture.rig import PARENT, Rig

ROOT = Path(__file__).parents[1]
FEW, MANY = 500, 10_000  # resources of each kind
# CPU seconds that one callback of the loop may take: the time of day says little on a machine that
# has other work, too.
MOST = 0.1
HANGS = 10.0  # seconds, by the clock, that the loop may not come round


class Watched:
    """A server whose loop is watched, and another client of it, which asks all the time."""

    def __init__(self, rig: Rig, numbers: Path) -> None:
        """numbers: the file that loop_watch writes."""
        self.rig, self.numbers = rig, numbers
        self.names = Path(f"{numbers}.txt")
        self.lines: list[str] = []

    def measure(self, case: Case) -> tuple[float, float]:
        """Send a request; the CPU seconds of the longest callback, and how long the loop stood."""
        with self.numbers.open("r+b") as file:
            file.write(bytes(SIZE))
        self.names.write_text("")
        begun, done = time.monotonic(), threading.Event()
        other = threading.Thread(target=self._ask, args=(done,))
        other.start()
        try:
            status = case.send(self.rig)
        finally:
            done.set()
            other.join()
        took = time.monotonic() - begun
        time.sleep(0.05)
        self.rig.ask("GET", "/status")  # what began behind the answer has had its turn
        assert status < 500, status
        assert status < 400 or "refused" in case.size or "no such" in case.size, status
        held, stood = struct.unpack("2d", self.numbers.read_bytes())
        row = f"{case.service:16} {case.request:44} {case.size:46}"
        self.lines.append(f"{row} {took:6.2f} {held:6.3f} {stood:6.3f}")
        return held, stood

    def _ask(self, done: threading.Event) -> None:
        """Look at a job again and again: for that the loop reads a record."""
        while not done.wait(0.02):
            self.rig.ask("GET", f"{PARENT}/customJobs/1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("watched")


@pytest.fixture(scope="module", params=[FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def watched(request: pytest.FixtureRequest, folder: Path) -> Iterator[Watched]:
    numbers = folder / f"{request.param}"
    numbers.write_bytes(bytes(SIZE))
    with pytest.MonkeyPatch.context() as changed:
        watch = Path(__file__).parent / "loop_watch"
        changed.setenv("PYTHONPATH", f"{watch}:{ROOT / 'src'}")
        changed.setenv("LOOP_WATCH", str(numbers))
        with Rig(folder / f"home-{request.param}") as rig:
            largest_requests.fill(rig, request.param)
            watch_made = Watched(rig, numbers)
            yield watch_made
    print(f"\nwith {request.param} resources of each kind; seconds: the request, the longest")
    print("callback of the loop (CPU), and the longest time that another client waited")
    print(*watch_made.lines, sep="\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.request}, {case.size}")
def test_no_request_holds_the_loop(watched: Watched, case: Case) -> None:
    held, stood = watched.measure(case)
    assert held < MOST, watched.names.read_text()
    assert stood < HANGS
