"""How the benchmarks of both houses measure: in processes of their own, which take turns.

A machine that slows down for a while then slows all of them: medians and ratios are what to read.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def output(*command: str, **environment: str) -> str:
    """Return what a Python command prints."""
    done = subprocess.run(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return done.stdout


def measure_seconds(measure: Callable[[], object]) -> float:
    """Return how long a call takes."""
    begun = time.perf_counter()
    measure()
    return time.perf_counter() - begun


def seconds(*command: str) -> float:
    """Return how long a Python command takes as a whole process."""
    return measure_seconds(lambda: output(*command))


def last_line(*command: str, **environment: str) -> Any:
    """Return the JSON that a Python command prints last; what an SDK reports comes before it."""
    return json.loads(output(*command, **environment).splitlines()[-1])


def take_turns(measures: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, list[Any]]:
    """Take every measure `turns` times in turn, after a first round that is not counted."""
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(turns + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in measures}


def ratio(slow: list[float], fast: list[float]) -> float:
    """Return the median, over the turns, of how many times longer the first took."""
    return statistics.median(one / other for one, other in zip(slow, fast, strict=True))


def say(text: str) -> None:
    """Print progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def as_table(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    rows = [columns, ["---"] * len(columns), *lines]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
