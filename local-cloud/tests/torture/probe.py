"""Measure the longest time in which a server gave no answer: `python -m tests.torture.probe HOME`.

A process of its own, so that a busy tester does not look like a silent server. It asks for
`/status` 20 times a second over a kept connection. A connection that breaks is opened again, and
the time counts from the first request that got no answer.

Its commands are lines on stdin, each answered by a line: `back` (the server is up, watch it),
`away` (the server is away on purpose, count nothing). At the end of stdin it prints the seconds.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from local_cloud.client.home import Home
from local_cloud.errors import LocalCloudError

HOUSE = Path(__file__).parents[2]  # in which `tests` is found
PAUSE = 0.05  # seconds between an answer and the next request
PATIENCE = 600  # seconds for one answer: a server that hangs is measured, not given up


class Probe:
    """The process that watches the server of a home; it begins with a server that is away."""

    def __init__(self, home: Home) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.probe", str(home.folder)],
            cwd=HOUSE,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def say(self, command: str) -> None:
        """Say `back` or `away`, and wait until it counts."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def end(self) -> float:
        """End the process; the longest time without an answer, in seconds."""
        said, _ = self._process.communicate()
        return float(said)


class Watch:
    """Asks one server again and again, and keeps the longest time without an answer."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.longest = 0.0
        self._lock = threading.Lock()
        self._up = threading.Event()
        self._asked_at = 0.0  # when the request was sent that has no answer yet; 0 if there is none
        self._connection: http.client.HTTPConnection | None = None

    def back(self) -> None:
        """Count from here on."""
        self._up.set()

    def away(self) -> None:
        """Count nothing from here on; a request that waits counts until now."""
        with self._lock:
            self._up.clear()
            self._note()
            if line := self._connection and self._connection.sock:
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)  # wakes the request that waits

    def run(self) -> None:
        """Ask for ever."""
        while True:
            self._up.wait()
            self._ask()
            time.sleep(PAUSE)

    def _ask(self) -> None:
        with self._lock:
            if self._up.is_set() and not self._asked_at:
                self._asked_at = time.monotonic()
        try:
            if self._connection is None:
                port = self.home.address()["port"]
                self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            self._connection.request("GET", f"/{self.home.secret()}/status")
            self._connection.getresponse().read()
        except (OSError, http.client.HTTPException, LocalCloudError):
            self._connection = None
        else:
            with self._lock:
                self._note()

    def _note(self) -> None:
        if self._asked_at:
            self.longest = max(self.longest, time.monotonic() - self._asked_at)
            self._asked_at = 0.0


def main() -> None:
    """Watch the home that the command line names, as stdin says."""
    watch = Watch(Home(Path(sys.argv[1])))
    threading.Thread(target=watch.run, daemon=True).start()
    commands = {"back": watch.back, "away": watch.away}
    for line in sys.stdin:
        commands[line.strip()]()
        print("done", flush=True)
    watch.away()
    print(watch.longest, flush=True)


if __name__ == "__main__":
    main()
