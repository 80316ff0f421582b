"""What both helpers' tests of watching share: a program that watches a job, and what it writes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = 300.0  # that a machine with much else to do may take


def _program(helpers: str, call: str) -> str:
    return (
        f"from {helpers} import connect, train, wait\n"
        "from lesson import LessonError\n"
        "connect()\n"
        "try:\n"
        f"    print({call})\n"
        "except LessonError as problem:\n"
        "    print(f'LessonError: {problem}')\n"
    )


@contextmanager
def started(helpers: str, call: str, stdout: int) -> Iterator[subprocess.Popen[str]]:
    """A program that makes one call, and prints what it returns or the sentence it fails with.

    It does not outlive the test, also if the test fails.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _program(helpers, call)],
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(descriptor: int, wanted: str, so_far: str = "") -> str:
    """What is written until the wanted words are among it."""
    end = time.monotonic() + SECONDS
    while wanted not in so_far:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{wanted!r} is not written within {SECONDS:g} s: {so_far}"
        so_far += os.read(descriptor, 65536).decode()
    return so_far
