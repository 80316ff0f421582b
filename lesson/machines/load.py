"""Load for an endpoint: requests from several clients at a time, and its replicas meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lesson import LessonError
from lesson.show.picture import Picture


def send(ask: Callable[[], Any], clients: int, seconds: float) -> list[float]:
    """Call `ask` from so many threads again and again; return the seconds that each call took.

    Each thread calls it at least once. What a call raises ends the load, and is raised here.
    """
    end = time.monotonic() + seconds
    stopped = threading.Event()

    def client(_: int) -> list[float]:
        took: list[float] = []
        while not stopped.is_set() and (not took or time.monotonic() < end):
            begun = time.monotonic()
            try:
                ask()
            except BaseException:
                stopped.set()
                raise
            took.append(time.monotonic() - begun)
        return took

    with ThreadPoolExecutor(clients) as pool:
        return [each for took in pool.map(client, range(clients)) for each in took]


class Watch:
    """Looks at a number again and again in the background, such as that of an endpoint's replicas.

    `seen` has a (seconds since the start, number) for the first look and for each change.
    """

    def __init__(self, look: Callable[[], int], pause: float = 0.25) -> None:
        """Begin to look."""
        self.seen: list[tuple[float, int]] = []
        self._look, self._pause = look, pause
        self._begun = time.monotonic()
        self._changed, self._stopped = threading.Condition(), threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                look = self._look()
            except Exception as problem:  # noqa: BLE001 - of any SDK; wait_for() and stop() say it
                self._problem = problem
                self._stopped.set()
                look = None
            with self._changed:
                if look is not None and (not self.seen or self.seen[-1][1] != look):
                    self.seen.append((round(time.monotonic() - self._begun, 1), look))
                self._changed.notify_all()
            self._stopped.wait(self._pause)

    def wait_for(self, number: int, seconds: float = 120.0) -> None:
        """Return as soon as the number is this one; raise LessonError if it is not in time."""

        def is_there() -> bool:
            return self._stopped.is_set() or bool(self.seen and self.seen[-1][1] == number)

        with self._changed:
            in_time = self._changed.wait_for(is_there, seconds)
        self._raise()
        if not in_time:
            raise LessonError(f"after {seconds:g} s it is {self.seen[-1][1]}, not {number}")

    def stop(self) -> list[tuple[float, int]]:
        """Stop looking; return what was seen, and last the moment of now."""
        self._stopped.set()
        self._thread.join()
        self._raise()
        now = round(time.monotonic() - self._begun, 1)
        return [*self.seen, (now, self.seen[-1][1])]

    def _raise(self) -> None:
        if self._problem:
            raise LessonError(f"looking has failed: {self._problem}") from self._problem


def plot(seen: list[tuple[float, int]], loaded: float, path: Path | str) -> Picture:
    """Draw replicas over time as PNG; the load was on for the first `loaded` seconds."""
    from matplotlib.figure import Figure

    times, counts = zip(*seen, strict=True)
    figure = Figure(figsize=(8, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(0, loaded, facecolor="#dfe7ef", edgecolor="#444444", hatch="//", label="load")
    axes.step(times, counts, where="post", color="#0b5394", linewidth=2.5, label="replicas")
    axes.set(xlabel="seconds", ylim=(0, max(counts) + 0.5), yticks=range(max(counts) + 1))
    axes.legend(framealpha=1)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    changes = ", ".join(f"{count} at {when:g} s" for when, count in seen[:-1])
    return Picture(path, f"Replicas over time: {changes}. The load ended after {loaded:g} s.")
