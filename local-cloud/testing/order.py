"""The order of the tests: the files that take longest come first, so that the workers end together.

By itself pytest-xdist begins with the files that have most tests. `RECORD_DURATIONS=1 make test`
writes the seconds of each file that it runs into `tests/durations.json`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

LEAST = 1.0  # seconds; shorter files are in no order


def use_recorded(config: pytest.Config, recorded: Path) -> None:
    """Order the tests of this session by durations that an earlier one has recorded."""
    if not config.pluginmanager.has_plugin("order"):
        config.pluginmanager.register(Order(recorded), "order")


class Order:
    """The hooks of pytest that order a house's tests by their recorded durations."""

    def __init__(self, recorded: Path) -> None:
        self._recorded = recorded  # {path from the house: seconds}
        self._seconds = Counter[str]()  # in this run

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the tests of the longest files first, the rest in their order."""
        durations = self._read()
        items.sort(key=lambda item: -durations.get(item.nodeid.partition("::")[0], 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a test has taken to the seconds of its file."""
        self._seconds[report.nodeid.partition("::")[0]] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the seconds, if that was asked for; the workers' reports are all here."""
        if os.environ.get("RECORD_DURATIONS") and not hasattr(session.config, "workerinput"):
            house = self._recorded.parents[1]
            before = {file: last for file, last in self._read().items() if (house / file).exists()}
            seconds = Counter({**before, **self._seconds})
            self._recorded.write_text(_as_json(seconds), encoding="utf-8")

    def _read(self) -> dict[str, float]:
        """Return the recorded seconds of each file."""
        recorded: dict[str, float] = json.loads(self._recorded.read_text(encoding="utf-8"))
        return recorded


def _as_json(seconds: Counter[str]) -> str:
    """Return the longest files first, a line each, without the many short ones."""
    longest = {name: round(value) for name, value in seconds.most_common() if value >= LEAST}
    return json.dumps(longest, indent=1) + "\n"
