"""The project's own files agree with each other."""

from __future__ import annotations

import itertools
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.groups import GROUPS

ROOT = Path(__file__).parents[1]
LOCAL_CLOUD = [
    "google",
    "amazon",
    "engine",
    "server",
    "bigquery",
    "automl",
    "images",
    "pipelines",
    "console",
]


def locked(file: str) -> list[Requirement]:
    """The entries of a lock, without their hashes."""
    lines = (ROOT / file).read_text().splitlines()
    return [Requirement(line.rstrip(" \\")) for line in lines if line[0] not in "# "]


def lock() -> dict[str, str]:
    """The versions that are installed here."""
    here = [
        each
        for each in locked("tools/lock/requirements.txt")
        if not each.marker or each.marker.evaluate()
    ]
    return {normal(each.name): str(each.specifier).removeprefix("==") for each in here}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted() -> set[str]:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    local_cloud = tomllib.loads((ROOT / "local-cloud/pyproject.toml").read_text())["project"]
    extras = local_cloud["optional-dependencies"].values()
    direct = [*local_cloud["dependencies"], *itertools.chain(*extras)]
    direct += groups["lesson"] + groups["dev"]
    return {normal(re.split(r"[=<>]", item)[0]) for item in direct}


def test_the_lock_pins_everything_that_is_wanted_and_names_no_build() -> None:
    pins = lock()
    assert wanted() <= set(pins)
    assert pins["torch"] == "2.13.0"
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pins.values())


def test_the_lock_names_no_index_and_has_hashes_of_all_but_torch() -> None:
    names = ("tools/lock/requirements.txt", "tools/lock/hashes.txt", "environment.yml")
    files = [ROOT / name for name in names]
    assert not [file.name for file in files if "//" in file.read_text()]
    pinned = {str(each) for each in locked("tools/lock/requirements.txt")}
    assert {str(each) for each in locked("tools/lock/hashes.txt")} == pinned - {"torch==2.13.0"}
    entries = re.split(r"\n(?=\S)", (ROOT / "tools/lock/hashes.txt").read_text().strip())[1:]
    assert all(re.search(r"\n    --hash=sha256:[0-9a-f]{64}", entry) for entry in entries)


@pytest.mark.parametrize("python", ["3.11.0", "3.13.0"])
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_the_lock_has_one_version_of_each_package_on_every_machine(
    python: str, system: str
) -> None:
    machine = {"python_version": python[:4], "python_full_version": python, "sys_platform": system}
    here = [
        normal(each.name)
        for each in locked("tools/lock/requirements.txt")
        if not each.marker or each.marker.evaluate(machine)
    ]
    assert wanted() <= set(here) and len(here) == len(set(here))
    assert ("appnope" in here) == (system == "darwin")  # ipykernel needs it there, and only there


def test_conda_gets_the_versions_of_the_lock() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["dependencies"][-1] == {
        "pip": ["-r tools/lock/requirements.txt", "-e ./local-cloud"]
    }


def test_every_make_target_is_in_the_readme_and_every_command_there_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", (ROOT / "README.md").read_text()))
    assert named <= targets
    assert targets - {"help", "setup"} <= named


def test_the_verbs_that_the_readme_prints_are_the_source() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"\(`(GCP_helpers/\w+\.py)`\):\n\n```python\n(.*?)```", page, re.DOTALL)
    assert shown
    file, code = shown.groups()
    assert code.count("def ") == 2
    assert code in (ROOT / file).read_text(encoding="utf-8")


def test_continuous_integration_runs_the_readmes_command() -> None:
    commands = [
        line for line in (ROOT / ".ci/run").read_text().splitlines() if line.startswith("make")
    ]
    first = ["make test", "make -C local-cloud test"]
    assert commands == [*first, "make rest", "make -C local-cloud rest"]


@pytest.mark.parametrize(
    "file",
    [
        *ROOT.glob(".github/workflows/*.yml"),
        *ROOT.glob(".binder/postBuild"),
        *ROOT.glob(".devcontainer/*.json"),
    ],
    ids=lambda file: file.name,
)
def test_what_a_forge_or_a_container_runs_is_a_make_target(file: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"\bmake (?:--[a-z-]+ )*([a-z-]+)", file.read_text())
    assert set(named) <= targets
    assert named or file.name == "site.yml"  # the Workbench builds the site


def test_every_push_is_tested_on_linux_and_macos_and_with_plain_instructions() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    assert "push" in workflow[True]  # YAML reads `on` as true
    job = workflow["jobs"]["test"]
    matrix = job["strategy"]["matrix"]
    assert {each["os"].partition("-")[0] for each in matrix["machine"]} == {"ubuntu", "macos"}
    assert {each["instructions"] for each in matrix["machine"]} == {"newest", "default"}
    lesson = [f"test GROUP={group}" for group in GROUPS.beginnings]
    local_cloud = [f"-C local-cloud test GROUP={group}" for group in LOCAL_CLOUD]
    assert matrix["part"] == ["check", *lesson, *local_cloud]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == ["make setup", "make ${{ matrix.part }}"]


@pytest.mark.parametrize("file", sorted(ROOT.glob(".github/workflows/*.yml")), ids=lambda f: f.name)
def test_a_workflow_may_do_only_what_it_says_and_ends(file: Path) -> None:
    workflow = yaml.safe_load(file.read_text())
    for job in workflow["jobs"].values():
        assert "permissions" in workflow or "permissions" in job
        assert job["timeout-minutes"] <= 90


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


def test_the_root_is_seen_at_a_glance() -> None:
    command = ["git", "ls-files", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    entries = {name.partition("/")[0] for name in done.stdout.split("\0") if name}
    assert len(entries) <= 30, "put it into a room: docs in .github, programs in tools"
