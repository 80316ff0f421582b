"""What clients were told is kept, against what is found afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from testing.tally import Tally

Key = str | int


class Acknowledged:
    """For each key, the value that was acknowledged last, and those that were sent after it.

    A value is compared with ==. None: the key was removed.
    """

    def __init__(self, kind: str) -> None:
        """kind: what the keys name, for messages."""
        self.kind, self.writes = kind, 0
        self._last: dict[Key, object] = {}
        self._unsure: dict[Key, list[object]] = {}

    @contextmanager
    def write(self, values: dict[Key, object]) -> Iterator[None]:
        """Count the values as acknowledged, unless the block, which sends them, raises."""
        for key, value in values.items():
            self._unsure.setdefault(key, []).append(value)
        yield
        for key, value in values.items():
            self.keep(key, value)

    def keep(self, key: Key, value: object) -> None:
        """Count a value as acknowledged whose key the answer has named."""
        self._last[key] = value
        self._unsure[key] = []
        self.writes += 1

    def has(self, key: Key) -> bool:
        """Whether the key is there for certain."""
        return self._last.get(key) is not None and not self._unsure[key]

    def sent(self) -> set[Key]:
        """All keys, also those that were not acknowledged."""
        return {*self._unsure}

    def compare(self, find: Callable[[Key], object], tally: Tally) -> None:
        """Count each key that was acknowledged: it has that value, or one that was sent after it.

        find: the value that a key has now. Raises OSError where that cannot be found out.
        """
        for key, unsure in self._unsure.items():
            allowed = [self._last.get(key), *unsure]
            try:
                value = find(key)
            except OSError as problem:
                value = problem
            if value not in allowed:
                note = tally.loses if key in self._last else tally.breaks
                note(f"{self.kind} {key}: {value!r:.300}, not {allowed!r:.300}")
            elif key in self._last:
                tally.survives()
