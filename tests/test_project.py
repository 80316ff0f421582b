"""The project's own files agree with each other."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def lock() -> dict[str, str]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line.split("==") for line in lines if not line.startswith("#")]
    return {normal(name): version for name, version in pins}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted() -> set[str]:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    direct = table["project"]["dependencies"] + table["dependency-groups"]["dev"]
    return {normal(re.split(r"[=<>]", item)[0]) for item in direct}


def test_the_lock_pins_everything_that_is_wanted_and_names_no_build() -> None:
    pins = lock()
    assert wanted() <= set(pins)
    assert pins["torch"] == "2.13.0"
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pins.values())


def test_conda_gets_the_versions_of_the_lock() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    inside = next(item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    pins = {normal(name): version for name, version in (item.split("==") for item in inside)}
    assert set(pins) == wanted()
    assert pins == {name: lock()[name] for name in pins}


def test_every_make_target_is_in_the_readme_and_every_command_there_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert named <= targets
    assert targets - {"help", "setup"} <= named


def test_continuous_integration_runs_the_readmes_command() -> None:
    commands = [
        line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make")
    ]
    assert commands == ["make test"]


def test_the_script_does_not_grow_unseen() -> None:
    assert len((ROOT / "training/train_nn.py").read_text().splitlines()) <= 1741


@pytest.mark.parametrize("side", ["GCP_helpers", "AWS_helpers"])
def test_the_script_lies_also_where_the_lessons_this_grew_from_run_it(side: str) -> None:
    link = ROOT / side / "train_nn.py"
    assert link.readlink() == Path("../training/train_nn.py") and link.is_file()


def test_every_file_in_git_is_small_and_no_folder_is_empty() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert all(file.stat().st_size < 2**20 for file in files if file.is_file())
    empty = [file for file in files if file.is_file() and file.stat().st_size == 0]
    assert not empty, "an empty file is a placeholder"
