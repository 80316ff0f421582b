"""Which room may import which, and that importing the package is light."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from testing.imports import import_graph, module_name, modules, names_imported, require_no_circle

SOURCE = Path(__file__).parents[1] / "src"
HOUSE = SOURCE.parent

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
COMMON = {"disk_errors", "errors", "extras", "json_types", "pieces"}
ABOVE = {*COMMON, "server", "pytest_plugin"}  # nobody imports the last two
# The same within the engine: nine rooms, and the words that they share.
WORDS = {"base", "dialect", "machine", "rental", "spec", "system"}
ENGINE_ROOMS = {
    "environments": {"base", "isolation", "spec"},  # it builds strangers' packages apart
    "isolation": {"base", "machine", "spec", "system"},
    "rehearsals": {"serving", "spec"},  # a deployment that is never healthy
    "logs": set(),
    "warm": {"environments", "isolation", "machine", "spec", "system"},  # one file is the way in
    "processes": {"environments", "isolation", "logs", "spec", "system", "warm"},
    "jobs": {*WORDS, "environments", "isolation", "logs", "processes", "rehearsals", "warm"},
    "serving": {"isolation", "jobs", "logs", "processes", "rental", "spec", "system"},
    "studies": {"dialect", "jobs", "spec"},
    "dialect": {"rehearsals", "serving", "spec", "studies"},
    "base": set(),
    "machine": {"spec"},
    "rental": set(),
    "spec": {"base", "rental"},
    "system": set(),
}
# The only parts of the SDKs that the local cloud may use: messages and models, no client.
MESSAGES = (
    "google.cloud.aiplatform_v1.types",
    "botocore.loaders",
    "botocore.model",
    "botocore.parsers",
    "botocore.serialize",
)


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
    folder = SOURCE / package.replace(".", "/")
    assert rooms(folder) - ABOVE == set(allowed)
    for room, others in allowed.items():
        for path in files_of(folder / room):
            for name in modules(path):
                near = name.removeprefix(f"{package}.").partition(".")[0]
                if name.startswith(f"{package}.") and near in rooms(folder):
                    assert near in {room, *COMMON, *others}, f"{path} imports {name}"


def test_the_server_knows_of_a_cloud_only_its_list_of_services() -> None:
    clouds = ("local_cloud.google.", "local_cloud.amazon.")
    named = {name for name in modules(SOURCE / "local_cloud/server.py") if name.startswith(clouds)}
    assert named == {"local_cloud.google.services", "local_cloud.amazon.services"}
    platform = (SOURCE / "local_cloud/platform.py").read_text(encoding="utf-8")
    assert not re.findall(r"google|amazon|vertex|sagemaker", platform, re.IGNORECASE)


@pytest.mark.parametrize("cloud", ["google", "amazon"])
def test_no_service_of_a_cloud_imports_another_one(cloud: str) -> None:
    """Nor does what they share import a service: only `services` lists them."""
    folder = SOURCE / "local_cloud" / cloud
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
    for path in (SOURCE / "local_cloud" / cloud).rglob("*.py"):
        if path.name == "prebuilt_server.py":  # it runs in a replica, as a client
            continue
        for name in modules(path):
            if name.startswith(("google.cloud", "boto", "sagemaker")):
                assert name.startswith(MESSAGES), f"{path} imports {name}"


def test_a_client_loads_the_standard_library_and_the_errors_only() -> None:
    """The hooks of an SDK, in `sdks`, also import the SDK, inside their functions."""
    own = {"local_cloud.client", "local_cloud.disk_errors", "local_cloud.errors"}
    for path in (SOURCE / "local_cloud" / "client").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.parent.name == "sdks":
            tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
        assert names_imported(tree) <= {*sys.stdlib_module_names, "local_cloud"}, path
        ours = {name for name in modules(path) if name.startswith("local_cloud.")}
        foreign = {name for name in ours if ".".join(name.split(".")[:2]) not in own}
        assert not foreign, f"{path} imports {foreign}"


def test_no_module_of_the_local_cloud_imports_one_that_imports_it() -> None:
    """Imports in functions and for type checkers alone tie modules to each other, too."""
    graph = _graph(SOURCE / "local_cloud")
    assert "local_cloud.engine.jobs.queue" in graph["local_cloud.engine.studies.studies"]
    require_no_circle(graph)


@pytest.mark.parametrize(
    "package", ["amazon/sagemaker", "console", "google/bigquery", "google/vertex"]
)
def test_no_room_of_a_package_imports_one_that_imports_it(package: str) -> None:
    """What puts the rooms together is beside them, and no room imports that."""
    rooms: dict[str, set[str]] = {}
    graph = _graph(SOURCE / "local_cloud" / package)
    for name, others in graph.items():
        near = {other.rpartition(".")[0] for other in others & graph.keys()}
        rooms.setdefault(name.rpartition(".")[0], set()).update(near)
    assert len(rooms) >= 6
    for room, others in rooms.items():
        others.discard(room)
    require_no_circle(rooms)


def test_no_room_of_the_engine_imports_one_that_imports_it() -> None:
    """But for their words: they are in the files beside the rooms, and in the spec.py of a room."""
    rooms: dict[str, set[str]] = {}
    graph = _graph(SOURCE / "local_cloud/engine")
    parts = {name for name in graph if not name.endswith(".spec")}
    for name in parts:
        near = {other.rpartition(".")[0] for other in graph[name] & parts}
        rooms.setdefault(name.rpartition(".")[0], set()).update(near)
    del rooms["local_cloud.engine"]
    assert len(rooms) == 10  # nine, and what runs inside a job's isolation
    for room, others in rooms.items():
        others -= {room, "local_cloud.engine"}
    require_no_circle(rooms)


def test_the_warm_start_has_one_way_in() -> None:
    room = "local_cloud.engine.warm"
    for name, others in _graph(SOURCE / "local_cloud").items():
        inside = {other for other in others if other.startswith(f"{room}.")}
        if not name.startswith(room):
            assert inside <= {f"{room}.warm_start"}, name


def _graph(folder: Path) -> dict[str, set[str]]:
    """Return which modules of the local cloud each one in a folder imports."""
    graph = import_graph((SOURCE / "local_cloud").rglob("*.py"), SOURCE)
    inside = {module_name(path, SOURCE) for path in folder.rglob("*.py") if path.stem != "__init__"}
    if folder.name == "local_cloud":
        inside = set(graph)
    return {name: others for name, others in graph.items() if name in inside}


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


def test_importing_the_package_loads_the_standard_library_only() -> None:
    code = (
        "import sys; before = set(sys.modules); import local_cloud;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == ["local_cloud"]


# What is of the lesson that this repository has besides.
LESSON = {"AWS_helpers", "GCP_helpers", "compare", "data", "lesson", "trainer", "training"}
TABLE = "lesson_code.py"  # all that the tests take from it
# Words of the lesson, which mean nothing to others who use the local cloud.
WORDS_OF_LESSON = re.compile(
    r"lesson|(?<!linear-)learner|episode|train_nn|serve_nn|titanic", re.IGNORECASE
)
ALIAS = "client/target.py"  # where LESSON_TARGET is read


def test_nothing_here_imports_the_lesson_but_one_table_of_the_tests() -> None:
    files = [path for path in HOUSE.rglob("*.py") if "scripts" not in path.parts]
    assert len(files) > 800
    for path in files:
        lesson_names = {name.partition(".")[0] for name in modules(path)} & LESSON
        assert not lesson_names or path.name == TABLE, f"{path} imports {lesson_names}"


def test_the_architecture_page_names_files_that_are_there() -> None:
    """Those without a folder are in the package of the column that names them."""
    page = (HOUSE / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_/]+(?:/|\.py))`", page))
    services = ("google/vertex", "amazon/sagemaker", "google/bigquery")
    packages = [SOURCE / "local_cloud" / name for name in services]
    places = (HOUSE, SOURCE, *packages)
    there = {path for path in named if any((at / path).exists() for at in places)}
    assert {path for path in named if "/" in path} - there == set()
    rows = [line.split("|")[2:4] for line in page.splitlines() if line.startswith("| ")][2:]
    for column, package in enumerate(packages[:2]):
        named = {name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row[column])}
        own = {name for name in named if not (SOURCE / name).exists()}
        assert len(own) >= 6
        files = [f"/{path.relative_to(package)}" for path in package.rglob("*.py")]
        for name in own:
            assert any(path.endswith(f"/{name}") for path in files), name


def test_no_message_page_or_comment_speaks_of_the_lesson() -> None:
    folder = SOURCE / "local_cloud"
    texts = [path for path in folder.rglob("*") if path.suffix in (".css", ".html", ".js", ".py")]
    assert len(texts) > 400
    for path in texts:
        text = path.read_text(encoding="utf-8")
        if str(path.relative_to(folder)) == ALIAS:
            assert text.count("LESSON_TARGET") == 1
            text = text.replace("LESSON_TARGET", "")
        assert not WORDS_OF_LESSON.findall(text), path
