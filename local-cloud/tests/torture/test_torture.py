"""The parts of `make torture` that the threat-model page names, each for a short time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testing.tally import Tally, table
from tests.torture import (
    archives,
    dead_server,
    kills,
    log_flood,
    looks,
    machine,
    outputs,
    queries,
    requests,
    second_user,
    tables,
)


def test_the_table_adds_up() -> None:
    kills, load = Tally("kills", done="2 kills"), Tally("load", skipped="no time")
    kills.survives(5)
    kills.loses("an object", 2)
    kills.silent(0.25)
    kills.silent(0.125)
    load.lets_in("a stranger")
    load.check(True, "")
    assert not kills.well
    assert table([kills, load]).splitlines() == [
        "                   tried  survived      lost    let in no answer",
        "kills                  7         5         2         0    0.25 s",
        "load                   2         1         0         1         -",
        "all                    9         6         2         1    0.25 s",
        "kills: 2 kills",
        "load: skipped: no time",
        "longest time without an answer: 0.25 s, in kills"
        " (goal: under 1 s while any part runs; reached)",
    ]


def test_a_goal_that_is_missed_is_said() -> None:
    looks = Tally("looks")
    looks.silent(6)
    assert table([looks]).endswith("6.00 s, in looks (goal: under 1 s while any part runs; missed)")


def well(tally: Tally) -> None:
    assert tally.well, tally.problems
    if not tally.tried:
        pytest.skip(tally.skipped)


@pytest.mark.slow
def test_kills_of_server_and_queries_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    tally = kills.run(tmp_path, 30)
    well(tally)
    server, queries, writes = (int(number) for number in re.findall(r"\d+", tally.done))
    assert server and queries and writes >= tally.tried / 2  # what is tried is writes, not kills


@pytest.mark.slow
def test_another_user_of_the_machine_gets_nowhere(tmp_path: Path) -> None:
    folder = tmp_path
    while "pytest-of-" in str(folder):  # what keeps the other user out is not pytest's own folder
        folder.chmod(0o755)
        folder = folder.parent
    well(second_user.run(tmp_path, 40))


@pytest.mark.slow
def test_hostile_archives_break_nothing(tmp_path: Path) -> None:
    well(archives.run(tmp_path, 10))


@pytest.mark.slow
def test_hostile_outputs_break_nothing(tmp_path: Path) -> None:
    well(outputs.run(tmp_path, 20))


@pytest.mark.slow
@pytest.mark.slow
def test_jobs_that_attack_the_machine_change_nothing_of_it(tmp_path: Path) -> None:
    well(machine.run(tmp_path, 5))


def test_hostile_tables_and_checkpoints_break_nothing(tmp_path: Path) -> None:
    well(tables.run(tmp_path, 30))


@pytest.mark.slow
def test_a_flood_of_log_lines_is_complete_in_order_and_masked(tmp_path: Path) -> None:
    well(log_flood.run(tmp_path, 2))


@pytest.mark.slow
def test_files_that_are_looked_at_break_nothing(tmp_path: Path) -> None:
    well(looks.run(tmp_path, 10))


@pytest.mark.slow
def test_requests_of_every_kind_break_nothing(tmp_path: Path) -> None:
    well(requests.run(tmp_path, 10))


@pytest.mark.slow
def test_a_server_that_ends_in_any_way_is_noticed_and_loses_nothing(tmp_path: Path) -> None:
    well(dead_server.run(tmp_path, 20))


@pytest.mark.slow
def test_queries_that_take_everything_take_nothing_from_the_server(tmp_path: Path) -> None:
    well(queries.run(tmp_path, 20))
