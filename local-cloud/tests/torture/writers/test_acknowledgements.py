"""What is noticed when something that was acknowledged is not what it was."""

from __future__ import annotations

from testing.tally import Tally
from tests.torture.writers.acknowledgements import Acknowledged, Key


def compared(acknowledged: Acknowledged, values: dict[Key, object]) -> tuple[int, int, list[str]]:
    """How many keys are there, how many are lost, and what is said."""
    tally = Tally("test")
    acknowledged.compare(values.get, tally)
    return tally.survived, tally.lost, tally.problems


def written(*values: object) -> Acknowledged:
    """A key whose values were sent in this order; those in a list were not acknowledged."""
    acknowledged = Acknowledged("key")
    for value in values:
        if isinstance(value, list):
            try:
                with acknowledged.write({"a": value[0]}):
                    raise ConnectionError
            except OSError:
                continue
        with acknowledged.write({"a": value}):
            pass
    return acknowledged


def test_the_value_that_was_acknowledged_last_has_to_be_there() -> None:
    assert compared(written(1, 2), {"a": 2}) == (1, 0, [])
    assert compared(written(1, 2), {"a": 1}) == (0, 1, ["LOST: key a: 1, not [2]"])
    assert compared(written(1, 2), {}) == (0, 1, ["LOST: key a: None, not [2]"])
    assert written(1, 2).writes == 2


def test_or_one_that_was_sent_after_it() -> None:
    for value in (1, 2, 3):
        assert compared(written(1, [2], [3]), {"a": value})[:2] == (1, 0)
    assert compared(written(1, [2], 3), {"a": 2})[:2] == (0, 1)
    assert written(1, [2]).has("a") is False
    assert written(1, [2], 3).has("a") is True


def test_what_was_removed_has_to_be_gone() -> None:
    assert compared(written(1, None), {}) == (1, 0, [])
    assert compared(written(1, None), {"a": 1})[:2] == (0, 1)
    assert compared(written(1, [None]), {"a": 1})[:2] == (1, 0)


def test_what_was_not_acknowledged_counts_neither_as_tried_nor_as_lost() -> None:
    for values in ({}, {"a": 1}):
        assert compared(written([1]), values) == (0, 0, [])
    assert compared(written([1]), {"a": 2}) == (0, 0, ["key a: 2, not [None, 1]"])


def test_what_cannot_be_found_out_is_lost() -> None:
    def away(_: Key) -> object:
        raise OSError("500")

    tally = Tally("test")
    written(1).compare(away, tally)
    assert tally.problems == ["LOST: key a: OSError('500'), not [1]"]
