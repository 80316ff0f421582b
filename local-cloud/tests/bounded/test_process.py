"""A function in a process of its own: its answer, and every way in which it may have none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local_cloud.bounded import process
from local_cloud.bounded.errors import OverLimit, ReaderEnded
from local_cloud.bounded.limits import Limits
from local_cloud.bounded.process import call
from tests.bounded import readers

HOUSE = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def readers_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process finds modules of the local cloud alone; those here are in the tests."""
    own = process._environment

    def with_tests() -> dict[str, str]:
        variables = own()
        return variables | {"PYTHONPATH": f"{variables['PYTHONPATH']}{os.pathsep}{HOUSE}"}

    monkeypatch.setattr(process, "_environment", with_tests)


def test_the_answer_of_a_function_comes_back() -> None:
    assert call(readers.add, 1, 2.5) == 3.5


def test_the_process_gets_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_CLOUD_SECRET", "secret")
    assert "LOCAL_CLOUD_SECRET" not in call(readers.variables)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not limit a process's memory")
def test_more_memory_than_allowed_is_over_the_limit() -> None:
    with pytest.raises(OverLimit, match=r"^larger than 256 MiB in memory$"):
        call(readers.take, 1 << 30, limits=Limits(memory=256 << 20))


@pytest.mark.parametrize(
    ("function", "arguments", "limits", "error", "said"),
    [
        (readers.sleep, [60], Limits(seconds=1), OverLimit, "reading it takes longer than 1 s"),
        (readers.find_too_large, [], Limits(), OverLimit, "larger than I like"),
        (readers.answer, [5 << 20], Limits(), OverLimit, "larger than 4 MiB"),
        (readers.fail, [], Limits(), ReaderEnded, "ValueError: no good"),
        (readers.crash, [], Limits(), ReaderEnded, "ended by signal 11"),
    ],
)
def test_a_function_without_an_answer(
    function: Callable[..., Any],
    arguments: list[Any],
    limits: Limits,
    error: type[Exception],
    said: str,
) -> None:
    with pytest.raises(error, match=said):
        call(function, *arguments, limits=limits)
