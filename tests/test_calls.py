"""A call says what its arguments are: more than three go by keyword, and none hide in a tuple."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ["AWS_helpers", "GCP_helpers", "lesson", "local-cloud/src", "tools", "training"]
MOST = 3  # arguments that a function takes by position, besides self
# The folders and files whose functions keep to that.
BY_KEYWORD = [
    "AWS_helpers",
    "GCP_helpers",
    "data",
    "lesson",
    "local-cloud/src/local_cloud/amazon",
    "local-cloud/src/local_cloud/automl",
    "local-cloud/src/local_cloud/billing",
    "local-cloud/src/local_cloud/bounded",
    "local-cloud/src/local_cloud/client",
    "local-cloud/src/local_cloud/console",
    "local-cloud/src/local_cloud/engine",
    "local-cloud/src/local_cloud/google/definitions",
    "local-cloud/src/local_cloud/google/gcs",
    "local-cloud/src/local_cloud/google/logging",
    "local-cloud/src/local_cloud/google/resourcemanager",
    "local-cloud/src/local_cloud/google/rest.py",
    "local-cloud/src/local_cloud/google/vertex",
    "local-cloud/src/local_cloud/http",
    "local-cloud/src/local_cloud/images",
    "local-cloud/src/local_cloud/store",
    "local-cloud/src/local_cloud/__main__.py",
    "local-cloud/src/local_cloud/platform.py",
    "local-cloud/src/local_cloud/server.py",
    "tools/compare.py",
    "tools/copies.py",
    "tools/drift.py",
    "tools/environment",
    "tools/image",
    "tools/lab",
    "tools/lint",
    "tools/lock",
    "tools/notebooks",
    "tools/pages",
    "tools/pictures",
    "tools/site",
    "training/archives.py",
    "training/big_tables.py",
    "training/shared_layers.py",
    "training/train_nn.py",
]
TOOLKITS = {"transform_fn"}  # what the toolkit of Amazon's images calls


def splats(path: Path) -> list[str]:
    """Name the calls that unpack a tuple or a list which is written out there."""
    return [
        f"{path.name}:{argument.lineno}"
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for argument in call.args
        if isinstance(argument, ast.Starred)
        and isinstance(argument.value, ast.Tuple | ast.List)
        and argument.value.elts
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_call_unpacks_what_is_written_out_there(package: str) -> None:
    assert [one for path in sorted((ROOT / package).rglob("*.py")) for one in splats(path)] == []


def test_an_unpacked_tuple_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("f(*(1, 2))\nf(*more)\n")
    assert splats(path) == ["a.py:1"]


def files(name: str) -> list[Path]:
    """The Python files of a folder, or one."""
    path = ROOT / name
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def taking_many(path: Path) -> list[str]:
    """Name the functions that take more arguments by position; a lambda's caller is a library."""
    return [
        f"{path.name}:{function.lineno} {function.name}"
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and len(by_position(function)) > MOST
        and not is_called_by_a_library(function)
    ]


def is_called_by_a_library(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a component of a pipeline, or of an image's toolkit."""
    is_component = any(ast.unparse(one).startswith("dsl.") for one in function.decorator_list)
    return is_component or function.name in TOOLKITS


def by_position(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    names = [one.arg for one in function.args.posonlyargs + function.args.args]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


@pytest.mark.parametrize("name", BY_KEYWORD)
def test_more_than_three_arguments_go_by_keyword(name: str) -> None:
    assert [one for path in files(name) for one in taking_many(path)] == []


def test_a_function_that_takes_four_by_position_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "def f(a, b, c, d): ...\n"
        "def g(a, b, c, *, d): ...\n"
        "class C:\n"
        "    def h(self, a, b, c): ...\n"
        "    async def i(self, a, b, c, d=1): ...\n"
        "@dsl.component(base_image='x')\n"
        "def j(a, b, c, d): ...\n"
    )
    assert taking_many(path) == ["a.py:1 f", "a.py:5 i"]
