"""Each test file is in one group, and a group can be run alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.groups import GROUPS

ROOT = Path(__file__).parents[1]


def printed(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.groups", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_each_test_file_is_in_one_group() -> None:
    several_or_none = {
        file: GROUPS.of(file) for file in GROUPS.files() if len(GROUPS.of(file)) != 1
    }
    assert not several_or_none


def test_each_path_of_the_table_is_that_of_a_test() -> None:
    for group, beginnings in GROUPS.beginnings.items():
        for beginning in beginnings:
            named = [file for file in GROUPS.files() if file.startswith(beginning)]
            assert any(GROUPS.of(file) == [group] for file in named), (
                f"{beginning} of the group {group} names no test file"
            )


def test_a_groups_files_are_printed() -> None:
    assert printed("images").stdout.split() == GROUPS.paths("images")


def test_make_test_and_make_rest_run_each_file_once() -> None:
    first, rest = printed().stdout.split(), printed("rest").stdout.split()
    assert sorted(first + rest) == sorted(GROUPS.files())
    assert all(any(file.startswith(each) for file in rest) for each in GROUPS.rest)


def test_an_unknown_group_is_refused_with_the_names_of_all() -> None:
    done = printed("imagse")
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == (
        f"there is no group of tests imagse; the groups are {', '.join(GROUPS.beginnings)}\n"
    )
