"""Who may import whom, and that importing is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import local_cloud
from testing.imports import (
    import_graph,
    imported,
    names_imported,
    require_no_circle,
)

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "local-cloud" / "src"
OURS = {"GCP_helpers", "AWS_helpers", "lesson", "local_cloud", "tools", "data", "benchmarks"}
OURS |= {"training", "tests", "compare", "trainer"}

# package -> which of ours it may import
ALLOWED = {
    "training": set(),
    "examples": {"trainer"},
    "lesson": {"lesson", "local_cloud"},  # the check of the set-up, and reset()
    "GCP_helpers": {"GCP_helpers", "lesson", "local_cloud"},
    "AWS_helpers": {"AWS_helpers", "lesson", "local_cloud"},
    # Notebooks hold the exercises' verdicts as shown; the pictures of the console are of jobs that
    # the helpers have sent.
    "tools": {"tools", "local_cloud", "lesson", "GCP_helpers", "AWS_helpers"},
    "data": {"data"},
}


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_keep_to_the_design(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert imported(path) & OURS <= ALLOWED[package], path


# Whatever of the lesson uses the local cloud: code, also in strings that others run, and pages.
USERS = (
    "AWS_helpers",
    "GCP_helpers",
    "examples",
    "lesson",
    "tests",
    "tools",
)
PAGES = ("episodes", "learners", "instructors")
IMPORT = re.compile(r"\bfrom local_cloud(?:\.\w+)* import (\([^)]*\)|\w+(?:, \w+)*)")
NAME = re.compile(r"(?<![\w\"'/.])local_cloud\.(\w+)")


def test_the_lesson_uses_what_the_local_cloud_names_and_nothing_else() -> None:
    """With what is in `testing`, the kit that the tests of both share."""
    files = [path for folder in USERS for path in (ROOT / folder).rglob("*.py")]
    files += [path for folder in PAGES for path in (ROOT / folder).rglob("*.md")]
    files.remove(Path(__file__))
    assert len(files) > 400
    found = {
        str(path.relative_to(ROOT)): names_of_the_local_cloud(path.read_text(encoding="utf-8"))
        for path in files
    }
    inner = {path: names - set(local_cloud.__all__) for path, names in found.items()}
    assert {path: names for path, names in inner.items() if names} == {}
    assert len([names for names in found.values() if names]) > 40


def names_of_the_local_cloud(text: str) -> set[str]:
    """What a text imports from the local cloud, or uses of it."""
    listed = [name for names in IMPORT.findall(text) for name in re.findall(r"\w+", names)]
    return {*listed, *NAME.findall(text)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import local_cloud\nlocal_cloud.bill()", {"bill"}),
        ("from local_cloud import Status, bill\nfrom", {"Status", "bill"}),
        ("from local_cloud import (\n    Status,\n    bill,\n)\n", {"Status", "bill"}),
        ("from local_cloud.client import control", {"client", "control"}),
        ("'import local_cloud.server'", {"server"}),
        ("python -m local_cloud stop; _local_cloud.x", set()),
    ],
)
def test_such_names_are_found_in_code_and_in_strings(text: str, names: set[str]) -> None:
    assert names_of_the_local_cloud(text) == names


def test_the_lessons_code_takes_nothing_from_the_tests_of_the_local_cloud() -> None:
    """Its kit is for tests; the pictures of the console take its browser."""
    for package in ("AWS_helpers", "GCP_helpers", "lesson", "training", "examples"):
        for path in (ROOT / package).rglob("*.py"):
            assert "testing" not in imported(path), path


def test_no_module_of_the_lesson_and_its_helpers_imports_one_that_imports_it() -> None:
    """One graph of all three, so that a circle through two of them is seen, too.

    Without what a package itself imports: its functions for a notebook stand above the modules.
    """
    packages = ("lesson", "GCP_helpers", "AWS_helpers")
    paths = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    ours = [path for path in paths if path.stem != "__init__" and not path.is_symlink()]
    graph = import_graph(ours, ROOT)
    assert "AWS_helpers.session" in graph["AWS_helpers.jobs"]
    require_no_circle(graph)


def test_where_is_what_names_files_that_are_there() -> None:
    page = (ROOT / "instructors/code.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Za-z_-]+/[A-Za-z_/-]*(?:/|\.py))`", page))
    assert len(named) > 30
    assert {path for path in named if not (ROOT / path).exists()} == set()


SCRIPT = ROOT / "training" / "train_nn.py"
BESIDE = {"big_tables", "shared_layers"}  # which the script takes, if they are there


@pytest.mark.parametrize(
    "path", sorted((ROOT / "training").glob("*.py")), ids=lambda path: path.name
)
def test_nothing_that_is_sent_imports_the_script(path: Path) -> None:
    assert SCRIPT.stem not in imported(path)


def test_the_script_imports_what_may_lie_beside_it_in_the_function_that_needs_it() -> None:
    """So it also runs alone."""
    own = {path.stem for path in SCRIPT.parent.glob("*.py")}
    assert imported(SCRIPT) & own <= BESIDE
    body = ast.parse(SCRIPT.read_text(encoding="utf-8")).body
    functions = (ast.FunctionDef, ast.ClassDef)
    outside = [node for node in body if not isinstance(node, functions)]
    assert not names_imported(ast.Module(outside, type_ignores=[])) & BESIDE


@pytest.mark.parametrize("package", ["lesson", "GCP_helpers", "AWS_helpers"])
def test_importing_a_package_loads_the_standard_library_only(package: str) -> None:
    code = (
        f"import sys; before = set(sys.modules); import {package};"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    own = {"GCP_helpers", "AWS_helpers", "lesson", "local_cloud"}
    assert package in (loaded := set(ast.literal_eval(done.stdout))) and loaded <= own
