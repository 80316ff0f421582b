"""A job's metrics: what its regular expressions find in its log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

from local_cloud.engine.logs import job_files, log_timestamps
from local_cloud.json_types import Json

SEARCH = Path(__file__).with_name("search.py")
SECONDS = 60  # for all of a job's logs


class TooSlow(Exception):
    """A regular expression did not come to its end."""


def final(
    definitions: Sequence[Mapping[str, str]], logs: Sequence[Path], seconds: int
) -> list[Json]:
    """Return the latest value of each metric that was found, with the time of its line.

    Raises TooSlow when that takes more than so many seconds.
    """
    latest: dict[str, Json] = {}
    regexes = [each["Regex"] for each in definitions]
    matches = _search(regexes, logs, seconds, every=False)
    for metric, moment, value in _with_times(matches, logs):
        name = definitions[metric]["Name"]
        known = latest.get(name)
        if known is None or known["Timestamp"] <= moment:
            latest[name] = {"MetricName": name, "Value": value, "Timestamp": moment}
    return list(latest.values())


def values(regex: str, log: Path, seconds: int) -> list[float]:
    """Return all values of one metric in a log's whole lines; raises TooSlow as final() does."""
    return [value for *_, value in _search([regex], [log], seconds, every=True)]


def series(regex: str, logs: Sequence[Path], seconds: int) -> list[tuple[float, float]]:
    """Return each value of one metric in the logs' whole lines, with the time of its line.

    Raises TooSlow as final() does.
    """
    matches = _search([regex], logs, seconds, every=True)
    return [(moment, value) for _, moment, value in _with_times(matches, logs)]


def points(
    definitions: Sequence[Mapping[str, str]], logs: Sequence[Path], seconds: int
) -> dict[str, list[tuple[float, float]]]:
    """Return each value of each metric in the logs of a job that has ended, with its line's time.

    Raises TooSlow as final() does.
    """
    regexes = [each["Regex"] for each in definitions]
    matches = _search(regexes, logs, seconds, every=True, ended=True)
    of_metric: dict[str, list[tuple[float, float]]] = {}
    for metric, moment, value in _with_times(matches, logs):
        of_metric.setdefault(definitions[metric]["Name"], []).append((moment, value))
    return of_metric


def _with_times(
    matches: Sequence[tuple[int, int, int, float]], logs: Sequence[Path]
) -> Iterator[tuple[int, float, float]]:
    """Yield (metric, time, value) of what search.py found."""
    times: dict[tuple[int, int], float] = {}
    for place, log in enumerate(logs):
        ends = sorted({end for _, where, end, _ in matches if where == place})
        seen = log_timestamps.times(log, ends)  # none, if its job has removed the log meanwhile
        times |= {(place, end): moment for end, moment in zip(ends, seen, strict=False)}
    return (
        (metric, times[place, end], value)
        for metric, place, end, value in matches
        if (place, end) in times
    )


def _search(
    regexes: Sequence[str],
    logs: Sequence[Path],
    seconds: int,
    *,
    every: bool,
    ended: bool = False,
) -> list[tuple[int, int, int, float]]:
    """Return what search.py finds; nothing in a log that its job has replaced."""
    task = {
        "seconds": seconds,
        "longest": log_timestamps.LONGEST,
        "every": every,
        "ended": ended,
        "metrics": regexes,
    }
    with ExitStack() as opened:
        files = [_open(log, opened) for log in logs]
        descriptors = [file.fileno() if file else None for file in files]
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(SEARCH)],
            input=json.dumps(task | {"logs": descriptors}),
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            pass_fds=[number for number in descriptors if number is not None],
        )
    if done.returncode == -signal.SIGALRM:
        raise TooSlow(f"a regular expression ran for more than {seconds} s")
    done.check_returncode()
    matches: list[tuple[int, int, int, float]] = json.loads(done.stdout)
    return matches


def _open(log: Path, opened: ExitStack) -> FileIO | None:
    try:
        return opened.enter_context(job_files.open_log(log))
    except FileNotFoundError:
        return None
