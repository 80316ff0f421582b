"""A client in a thread that writes again and again, whatever becomes of the server."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import Any

from local_cloud.json_types import Json
from testing.tally import Tally
from tests.torture.rig import Rig
from tests.torture.writers.acknowledgements import Acknowledged

AWAY = 0.02  # seconds to wait for a server that was killed
TRY_AGAIN = 503  # the answer to a request whose process was killed
KILLED = b"(signal 9)"  # that of a statement whose process was killed, and that of the next try


class Writer(threading.Thread):
    """The base of all: a kind says how it writes once, and how a thing is found afterwards."""

    kind = ""

    def __init__(self, rig: Rig, number: int) -> None:
        """number: which client it is, for names of its own."""
        super().__init__(daemon=True)
        self.rig, self.number = rig, number
        self.chosen = random.Random(number)
        self.stopped = threading.Event()
        self.acknowledged = Acknowledged(self.kind)
        self.refused: set[str] = set()  # answers that no kill explains

    def prepare(self) -> None:
        """Make what is written into; nothing is killed yet."""

    def write(self, count: int) -> None:
        """Write for the count-th time. OSError: nobody knows what became of it."""
        raise NotImplementedError

    def compare(self, tally: Tally) -> None:
        """Count what is there, and what was acknowledged and is not."""
        raise NotImplementedError

    def run(self) -> None:
        """Write until it is told to stop."""
        count = 0
        while not self.stopped.is_set():
            count += 1
            try:
                self.write(count)
            except OSError:
                time.sleep(AWAY)

    def send(self, method: str, path: str, body: bytes | Json | None = None, **more: str) -> bytes:
        """Return the answer to a request. OSError if there is none, or another one than 200."""
        status, content = self.rig.ask(method, path, body, **more)
        if status == 200:
            return content
        problem = f"{method} {path.partition('?')[0]}: {status} {content[:300]!r}"
        if status != TRY_AGAIN and KILLED not in content:
            self.refused.add(problem)
        raise OSError(problem)

    def ask(self, method: str, path: str, body: Json | None = None, **more: str) -> Any:
        """Return the document that answers a request. OSError as for `send`."""
        return json.loads(self.send(method, path, body, **more))
