"""The process that trains models: started for the first one, used again for the next."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import local_cloud
from local_cloud.bounded.files import tail
from local_cloud.google.bigquery.api.errors import Problem

LONGEST = 6 * 3600  # seconds, as long as any query of BigQuery's may take
LOOKS = 0.05  # seconds between two looks whether the query was cancelled
LARGE = 100 * 2**20  # bytes of a table, after which the process is not used again


class Worker:
    """Trains one model at a time; whoever calls has to see to that.

    The process ends when its standard input does, so also if the server is killed.
    """

    def __init__(self) -> None:
        """Keep the folder; the process is started when it is first needed."""
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._ending = threading.Lock()

    def train(self, draft: Path, check: Callable[[], None]) -> None:
        """Have training.py train what is in this folder. Raises Problem.

        check: raises if the query was cancelled, which ends the process.
        """
        large = (draft / "table.arrow").stat().st_size > LARGE
        try:
            process = self._ask(draft)
            if not self._wait_until_done(process, check):
                raise _failure(process.wait(10), self._last_error())
        except BaseException:
            self.end()
            raise
        if large:
            self.end()
        problem = draft / "problem.json"
        if problem.exists():
            problem_told = json.loads(problem.read_text(encoding="utf-8"))
            raise Problem(
                problem_told["code"], problem_told["reason"], problem_told["message"], "query"
            )

    def end(self) -> None:
        """End the process, whatever it does."""
        with self._ending:
            if (process := self._process) is None:
                return
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, self._errors):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = self._errors = None

    def _ask(self, draft: Path) -> subprocess.Popen[bytes]:
        """Send the folder to the process, or to a new one if it has ended: it does when idle."""
        for _ in range(2):
            if self._process and self._process.poll() is not None:
                self.end()
            process = self._process or self._start()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.write(f"{draft}\n".encode())
                process.stdin.flush()
                if process.poll() is None:
                    return process
            self.end()
        raise _failure(1, "it does not start")

    def _start(self) -> subprocess.Popen[bytes]:
        kept = ("PATH", "HOME", "TMPDIR", "LANG")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment["PYTHONPATH"] = str(Path(local_cloud.__file__).parents[1])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "local_cloud.google.bigquery.ml.training"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,
        )
        return self._process

    def _wait_until_done(self, process: subprocess.Popen[bytes], check: Callable[[], None]) -> bool:
        """Wait for the line that says that it is done; False if the process ended instead."""
        assert process.stdout is not None
        ends = time.monotonic() + LONGEST
        while not select.select([process.stdout], [], [], LOOKS)[0]:
            check()
            if time.monotonic() > ends:
                hours = LONGEST // 3600
                raise Problem(400, "timeout", f"The training took longer than {hours} hours.")
        return process.stdout.readline() == b"done\n"

    def _last_error(self) -> str:
        if self._errors is None:
            return ""
        lines = tail(self._errors, 4000).decode(errors="replace").strip().splitlines()
        return lines[-1][:500] if lines else ""


def _failure(code: int, told: str) -> Problem:
    """Return the problem that the process ended before it was done."""
    if code < 0:
        what = f"The training was ended by signal {-code}: it may have needed too much memory."
        return Problem(400, "resourcesExceeded", what)
    return Problem(500, "internalError", f"the training failed ({told or f'exit code {code}'})")
