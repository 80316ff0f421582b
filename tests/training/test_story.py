"""The script is read from top to bottom: how it trains comes first, what that is built on later."""

from __future__ import annotations

import ast

import pytest

from tests.training.support import SCRIPT

SOURCE = SCRIPT.read_text(encoding="utf-8")
FUNCTIONS = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)]
TO_CHANGE = [
    "build_model",
    "loss_of_each_row",
    "score",
    "build_optimizer",
    "learning_rate_at",
]
STORY = [
    *TO_CHANGE,
    "train_one_epoch",
    "evaluate",
    "fit",
    "start_run",
    "train_model",
    "main",
]
# What reaches a file, a bucket or another replica, and the words of the plumbing.
REACHES_OUT = {
    "open",
    "Path",
    "io",
    "zipfile",
    "tempfile",
    "socket",
    "storage",
    "boto3",
    "SummaryWriter",
    "dist",
    "save",
    "load",
    "write_bytes",
    "read_bytes",
    "torch_xla",
    "importlib",
}


def names_in(function: ast.FunctionDef) -> set[str]:
    """The names and attributes that a function uses."""
    names = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            names.add(node.id)
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.add("import")
    return names


def test_the_story_comes_first_in_the_order_in_which_a_teacher_explains_it() -> None:
    assert [function.name for function in FUNCTIONS[: len(STORY)]] == STORY
    last = FUNCTIONS[len(STORY) - 1].end_lineno or 0
    rest = SOURCE.splitlines()[last:]
    assert next(line for line in rest if line).startswith("# ==== What this is built on")


@pytest.mark.parametrize("function", FUNCTIONS[: len(STORY)], ids=lambda each: each.name)
def test_no_function_of_the_story_opens_a_file_or_a_socket(function: ast.FunctionDef) -> None:
    assert not names_in(function) & REACHES_OUT


def test_functions_that_do_exist_further_down() -> None:
    """Otherwise the test above could not fail."""
    assert any(names_in(function) & REACHES_OUT for function in FUNCTIONS[len(STORY) :])


@pytest.mark.parametrize("function", FUNCTIONS[: len(TO_CHANGE)], ids=lambda each: each.name)
def test_what_everybody_changes_is_plain(function: ast.FunctionDef) -> None:
    assert not names_in(function) & {"import", "cast", "find_spec", "getattr", "isinstance"}
    assert not any(isinstance(node, ast.Lambda | ast.Try) for node in ast.walk(function))
