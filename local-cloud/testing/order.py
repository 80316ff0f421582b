"""The order of the tests: the files that take longest come first, so that the workers end together.

By itself pytest-xdist begins with the files that have most tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest


def by_turn(tests: Path, longest: Sequence[str]) -> Callable[[list[pytest.Item]], None]:
    """Return the hook that puts the tests of the longest files first, the rest in their order.

    longest: paths in the folder `tests`; of what is elsewhere, names.
    """
    turns = {name: turn for turn, name in enumerate(longest)}

    def turn(item: pytest.Item) -> int:
        file, inside = item.path, item.path.is_relative_to(tests)
        name = file.relative_to(tests).as_posix() if inside else file.name
        return turns.get(name, len(longest))

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        items.sort(key=turn)

    return pytest_collection_modifyitems
