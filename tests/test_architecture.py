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
    # The coverage page is made from the routes; notebooks hold the exercises' verdicts as shown;
    # the pictures of the console are of jobs that the helpers have sent.
    "tools": {"tools", "local_cloud", "lesson", "GCP_helpers", "AWS_helpers"},
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


# Within local_cloud: room (a file or a folder) -> the other rooms that it may import.
# All may import COMMON.
ROOMS = {
    "client": set(),
    "bounded": set(),
    "store": set(),
    "source": set(),
    "http": {"client"},  # who owns a port
    "automl": {"bounded"},
    "engine": {"bounded", "client", "store"},  # the failures that a client can name
    "images": {"client", "engine", "store"},
    "platform": {"engine", "store"},  # what a cloud alone needs, its `services` hands over
    "billing": {"client", "engine", "platform", "store"},
    "google": {"automl", "billing", "bounded", "client", "engine", "http", "platform", "store"},
    "amazon": {"automl", "bounded", "client", "engine", "http", "platform", "store"},
    # It reads what is on record, and asks the services by the requests that a client sends.
    "console": {"automl", "billing", "bounded", "client", "engine", "http", "platform", "store"},
}
COMMON = {"disk_errors", "errors", "extras"}
ABOVE = {*COMMON, "server", "pytest_plugin"}  # nobody imports the last two
# The same within the engine: six rooms, and the words that they share.
WORDS = {"base", "dialect", "machine", "rental", "spec", "system"}
ENGINE_ROOMS = {
    "environments": {"base", "isolation", "spec"},  # it builds strangers' packages apart
    "isolation": {"base", "machine", "spec", "system"},
    "rehearsals": {"serving", "spec"},  # a deployment that is never healthy
    "jobs": {*WORDS, "environments", "isolation", "rehearsals"},
    "serving": {*WORDS, "isolation", "jobs"},
    "studies": {*WORDS, "jobs"},
    "dialect": {"rehearsals", "serving", "spec", "studies"},
    "base": set(),
    "machine": {"spec"},
    "rental": set(),
    "spec": {"base", "rental"},
    "system": set(),
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


def rooms(folder: Path) -> set[str]:
    """The names of the files and folders in a package."""
    return {path.stem for path in folder.iterdir() if _is_room(path)}


def _is_room(path: Path) -> bool:
    is_package = path.is_dir() and any(path.rglob("*.py"))
    return is_package or (path.suffix == ".py" and not path.stem.startswith("__"))


def files_of(room: Path) -> list[Path]:
    """The Python files of a room, which is a folder or one file."""
    return sorted(room.rglob("*.py")) if room.is_dir() else [room.with_suffix(".py")]


@pytest.mark.parametrize(
    ("package", "allowed"), [("local_cloud", ROOMS), ("local_cloud.engine", ENGINE_ROOMS)]
)
def test_a_room_imports_only_the_rooms_that_it_may(
    package: str, allowed: dict[str, set[str]]
) -> None:
    """So engine, store and http know no cloud, and the clouds do not know each other."""
    folder = ROOT / package.replace(".", "/")
    assert rooms(folder) - ABOVE == set(allowed)
    for room, others in allowed.items():
        for path in files_of(folder / room):
            for name in modules(path):
                near = name.removeprefix(f"{package}.").partition(".")[0]
                if name.startswith(f"{package}.") and near in rooms(folder):
                    assert near in {room, *COMMON, *others}, f"{path} imports {name}"


def test_the_server_knows_of_a_cloud_only_its_list_of_services() -> None:
    clouds = ("local_cloud.google.", "local_cloud.amazon.")
    named = {name for name in modules(ROOT / "local_cloud/server.py") if name.startswith(clouds)}
    assert named == {"local_cloud.google.services", "local_cloud.amazon.services"}
    platform = (ROOT / "local_cloud/platform.py").read_text(encoding="utf-8")
    assert not re.findall(r"google|amazon|vertex|sagemaker", platform, re.IGNORECASE)


@pytest.mark.parametrize("cloud", ["google", "amazon"])
def test_no_service_of_a_cloud_imports_another_one(cloud: str) -> None:
    """Nor does what they share import a service: only `services` lists them."""
    folder = ROOT / "local_cloud" / cloud
    services = {path.parent.name for path in folder.glob("*/service.py")}
    assert len(services) >= 4
    for room in rooms(folder) - {"services"}:
        for path in files_of(folder / room):
            for name in modules(path):
                near = name.removeprefix(f"local_cloud.{cloud}.").partition(".")[0]
                if name.startswith(f"local_cloud.{cloud}.") and near in services:
                    assert near == room, f"{path} imports {name}"


@pytest.mark.parametrize("cloud", ["google", "amazon"])
def test_of_the_sdks_a_cloud_uses_messages_and_models_only(cloud: str) -> None:
    for path in (ROOT / "local_cloud" / cloud).rglob("*.py"):
        if path.name == "prebuilt_server.py":  # it runs in a replica, as a client
            continue
        for name in modules(path):
            if name.startswith(("google.cloud", "boto", "sagemaker")):
                assert name.startswith(MESSAGES), f"{path} imports {name}"


def test_a_client_loads_the_standard_library_and_the_errors_only() -> None:
    """The hooks of an SDK, in `sdks`, also import the SDK, inside their functions."""
    own = {"local_cloud.client", "local_cloud.disk_errors", "local_cloud.errors"}
    for path in (ROOT / "local_cloud" / "client").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.parent.name == "sdks":
            tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
        assert names_imported(tree) <= {*sys.stdlib_module_names, "local_cloud"}, path
        ours = {name for name in modules(path) if name.startswith("local_cloud.")}
        foreign = {name for name in ours if ".".join(name.split(".")[:2]) not in own}
        assert not foreign, f"{path} imports {foreign}"


def test_the_others_use_what_the_local_cloud_names_and_nothing_else() -> None:
    named = {f"local_cloud.{name}" for name in local_cloud.__all__}
    for package in ("GCP_helpers", "AWS_helpers", "lesson"):
        for path in (ROOT / package).rglob("*.py"):
            inner = {name for name in modules(path) if name.startswith("local_cloud.")}
            assert inner <= named, path


def test_no_module_of_the_local_cloud_imports_one_that_imports_it() -> None:
    """Imports in functions and for type checkers alone tie modules to each other, too."""
    graph = _graph(ROOT / "local_cloud")
    assert "local_cloud.engine.jobs.queue" in graph["local_cloud.engine.studies.studies"]
    _require_no_circle(graph)


@pytest.mark.parametrize(
    "package", ["amazon/sagemaker", "console", "google/bigquery", "google/vertex"]
)
def test_no_room_of_a_package_imports_one_that_imports_it(package: str) -> None:
    """What puts the rooms together is beside them, and no room imports that."""
    rooms: dict[str, set[str]] = {}
    graph = _graph(ROOT / "local_cloud" / package)
    for name, others in graph.items():
        near = {other.rpartition(".")[0] for other in others & graph.keys()}
        rooms.setdefault(name.rpartition(".")[0], set()).update(near)
    assert len(rooms) >= 6
    for room, others in rooms.items():
        others.discard(room)
    _require_no_circle(rooms)


def test_no_module_of_the_lesson_and_its_helpers_imports_one_that_imports_it() -> None:
    """One graph of all three, so that a circle through two of them is seen, too.

    Without what a package itself imports: its functions for a notebook stand above the modules.
    """
    packages = ("lesson", "GCP_helpers", "AWS_helpers")
    paths = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    files = {_module(path): path for path in paths if not path.is_symlink()}
    graph = {
        name: {near for found in modules(path) if (near := _nearest(found, files)) and near != name}
        for name, path in files.items()
        if path.stem != "__init__"
    }
    assert "AWS_helpers.session" in graph["AWS_helpers.jobs"]
    _require_no_circle(graph)


def _graph(folder: Path) -> dict[str, set[str]]:
    """Return which modules of the local cloud each one in a folder imports."""
    files = {_module(path): path for path in (ROOT / "local_cloud").rglob("*.py")}
    return {
        name: {near for found in modules(path) if (near := _nearest(found, files)) and near != name}
        for name, path in files.items()
        if path.is_relative_to(folder) and (path.stem != "__init__" or folder.name == "local_cloud")
    }


def _require_no_circle(graph: dict[str, set[str]]) -> None:
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
    services = ("google/vertex", "amazon/sagemaker", "google/bigquery")
    packages = [ROOT / "local_cloud" / name for name in services]
    there = {path for path in named if any((at / path).exists() for at in (ROOT, *packages))}
    assert {path for path in named if "/" in path} - there == set()
    rows = [line.split("|")[2:4] for line in page.splitlines() if line.startswith("| ")][2:]
    for column, package in enumerate(packages[:2]):
        named = {name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row[column])}
        own = {name for name in named if not (ROOT / name).exists()}
        assert len(own) >= 6
        files = [f"/{path.relative_to(package)}" for path in package.rglob("*.py")]
        for name in own:
            assert any(path.endswith(f"/{name}") for path in files), name


# What each file is for, in both clouds, and what it has that the rest relies on.
TRAINING = ("google.vertex", "amazon.sagemaker")
STORAGE = ("google.gcs", "amazon.s3")
ROLES = {
    ("service", TRAINING + STORAGE): {"service"},
    ("routes", TRAINING): {"training", "tuning", "models", "endpoints"},
    ("parts", TRAINING): {"Parts"},
    ("resources.request", TRAINING): set(),
    ("resources.billing", TRAINING): {"of_job"},
    ("jobs.training", TRAINING): {"Training", "DIALECT"},
    ("jobs.launch", TRAINING): {"plan"},
    ("jobs.status", TRAINING): {"progress"},
    ("jobs.failure_messages", TRAINING): {"FailureMessages"},
    ("tuning.tuning", TRAINING): {"Tuning"},
    ("tuning.study_spec", TRAINING): {"of"},
    ("tuning.metrics", ("google.vertex",)): set(),  # of trials; of every job there:
    ("jobs.metrics", ("amazon.sagemaker",)): set(),
    ("models.registry", TRAINING): {"ModelRegistry"},
    ("models.prebuilt_server", TRAINING): set(),
    ("endpoints.endpoints", TRAINING): {"Endpoints"},
    ("endpoints.serving_launch", TRAINING): {"plan"},
    ("endpoints.predictions", TRAINING): {"Predictions"},
    ("endpoints.serving_dialect", TRAINING): {"DeploymentDialect"},
    ("endpoints.batch_predictions", TRAINING): {"BatchPredictions"},
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
