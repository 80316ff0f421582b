"""Who may import whom, and that importing is light."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import local_cloud

ROOT = Path(__file__).parents[1]
OURS = {"GCP_helpers", "AWS_helpers", "lesson", "local_cloud", "tools", "data", "benchmarks"}
OURS |= {"training", "tests", "compare", "trainer"}

# package -> which of ours it may import
ALLOWED = {
    "training": set(),
    "taxifare": {"trainer"},
    "lesson": {"lesson", "local_cloud"},  # the check of the set-up, and reset()
    "local_cloud": {"local_cloud"},
    "GCP_helpers": {"GCP_helpers", "lesson", "local_cloud"},
    "AWS_helpers": {"AWS_helpers", "lesson", "local_cloud"},
    # The coverage page is made from the routes; notebooks hold the exercises' verdicts as shown.
    "tools": {"tools", "local_cloud", "lesson"},
    "data": {"data"},
}


def imported(path: Path) -> set[str]:
    """The top-level names that a file imports, anywhere in it."""
    return names_imported(ast.parse(path.read_text(encoding="utf-8")))


def names_imported(tree: ast.AST) -> set[str]:
    """The top-level names that a part of a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


# within local_cloud: part -> which other parts it may import; all may import what lies beside them
INSIDE = {
    "bounded": set(),  # all may import it
    "store": set(),
    "automl": set(),
    "engine": {"store"},
    "images": {"engine", "store"},
    "prices": set(),
    "billing": {"engine", "prices", "store"},
    "definitions": set(),
    "gcs": {"definitions", "engine", "store"},
    "bigquery": {"definitions", "store"},
    "resourcemanager": set(),
    "cloud_logging": {"definitions", "engine", "store"},
    "vertex": {"automl", "engine", "store"},
    "aws": set(),
    "s3": {"aws", "store"},
    "iam": {"aws"},
    "logs": {"aws", "engine"},
    "sagemaker": {"automl", "aws", "engine", "store"},
    # It reads what is on record, and asks the services by the requests that a client sends.
    "console": {"automl", "billing", "engine", "store"},
}
# The only parts of the SDKs that the local cloud may use: messages and models, no client.
MESSAGES = ("google.cloud.aiplatform_v1.types", "botocore.model", "botocore.loaders")


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_keep_to_the_design(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert imported(path) & OURS <= ALLOWED[package], path


def modules(path: Path) -> set[str]:
    """The modules and names that a file imports, each in full."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("part", INSIDE)
def test_engine_and_store_know_no_cloud_and_dialects_do_not_know_each_other(part: str) -> None:
    foreign = [["local_cloud", other] for other in set(INSIDE) - INSIDE[part] - {part, "bounded"}]
    for path in (ROOT / "local_cloud" / part).rglob("*.py"):
        for name in modules(path):
            assert name.split(".")[:2] not in foreign, f"{path} imports {name}"
            if name.startswith(("google.cloud", "boto", "sagemaker")):
                assert name.startswith(MESSAGES), f"{path} imports {name}"


def test_the_others_use_what_the_local_cloud_names_and_nothing_else() -> None:
    named = {f"local_cloud.{name}" for name in local_cloud.__all__}
    for package in ("GCP_helpers", "AWS_helpers", "lesson"):
        for path in (ROOT / package).rglob("*.py"):
            inner = {name for name in modules(path) if name.startswith("local_cloud.")}
            assert inner <= named, path


def test_no_module_of_the_local_cloud_imports_one_that_imports_it() -> None:
    """Imports in functions and for type checkers alone tie modules to each other, too."""
    files = {_module(path): path for path in (ROOT / "local_cloud").rglob("*.py")}
    graph = {
        name: {near for found in modules(path) if (near := _nearest(found, files)) and near != name}
        for name, path in files.items()
    }
    assert "local_cloud.engine.engine" in graph["local_cloud.engine.studies"]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" imports ".join(reversed(problem.args[1])))


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _nearest(name: str, files: dict[str, Path]) -> str:
    """The module that this name is, or that it is in; "" for one of another package."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def test_where_is_what_names_files_that_are_there() -> None:
    """Those without a folder are in the package of the column that names them."""
    page = (ROOT / "instructors/where-is-what.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_/]+(?:/|\.py))`", page))
    assert {path for path in named if "/" in path and not (ROOT / path).exists()} == set()
    rows = [line.split("|")[2:4] for line in page.splitlines() if line.startswith("| ")][2:]
    for column, package in enumerate(("vertex", "sagemaker")):
        own = {name for row in rows for name in re.findall(r"`(\w+\.py)`", row[column])}
        assert len(own) >= 6
        there = {path.name for path in (ROOT / "local_cloud" / package).rglob("*.py")}
        assert own <= there


# What each file is for, in both clouds, and what it has that the rest relies on.
TRAINING = ("vertex", "sagemaker")
STORAGE = ("gcs", "s3")
ROLES = {
    ("service", TRAINING + STORAGE): {"service"},
    ("routes", TRAINING): {"training", "tuning", "models", "endpoints"},
    ("parts", TRAINING): {"Parts"},
    ("training", TRAINING): {"Training", "DIALECT"},
    ("tuning", TRAINING): {"Tuning"},
    ("launch", TRAINING): {"plan"},
    ("request", TRAINING): set(),
    ("status", TRAINING): {"progress"},
    ("study_spec", TRAINING): {"of"},
    ("metrics", TRAINING): set(),
    ("model_registry", TRAINING): {"ModelRegistry"},
    ("endpoints", TRAINING): {"Endpoints"},
    ("serving_launch", TRAINING): {"plan"},
    ("predictions", TRAINING): {"Predictions"},
    ("deployed", TRAINING): {"Deployed"},
    ("batch_predictions", TRAINING): {"BatchPredictions"},
    ("routes", STORAGE): set(),
    ("buckets", STORAGE): {"Buckets"},
    ("contents", STORAGE): {"Contents"},
    ("uploads", STORAGE): {"Uploads"},
    ("errors", STORAGE): {"Refusal"},
}


@pytest.mark.parametrize(("role", "packages"), ROLES)
def test_both_clouds_have_the_same_file_for_the_same_role(
    role: str, packages: tuple[str, ...]
) -> None:
    for package in packages:
        module = importlib.import_module(f"local_cloud.{package}.{role}")
        assert vars(module).keys() >= ROLES[role, packages], package


SCRIPT = ROOT / "training" / "train_nn.py"
BESIDE = {"big_tables", "flat_adam", "shared_layers"}  # which the script takes, if they are there


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


@pytest.mark.parametrize("package", ["lesson", "local_cloud", "GCP_helpers", "AWS_helpers"])
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
    assert package in (found := set(ast.literal_eval(done.stdout))) and found <= own
