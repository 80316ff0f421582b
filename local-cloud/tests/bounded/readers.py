"""Functions that tests have called in a process of their own."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from typing import Any

from local_cloud.bounded.errors import OverLimit


def add(*numbers: float) -> float:
    return sum(numbers)


def variables() -> list[str]:
    return [*os.environ]


def take(count: int) -> int:
    return len(bytearray(count))


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def find_too_large() -> None:
    raise OverLimit("larger than I like")


def fail() -> None:
    raise ValueError("no good")


def crash() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.string_at(0)


def answer(count: int) -> Any:
    return "a" * count
