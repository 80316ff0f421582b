"""Copies of the script with the changes that the page shows."""

from __future__ import annotations

import ast
import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

from tools.pages.folder import read_page
from tools.pages.scanner import Code, Heading

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "learners" / "change-the-script.md"
FILES = {
    "train_nn.py": ROOT / "training" / "train_nn.py",
    "serve_nn.py": ROOT / "training" / "serve_nn.py",
}


def blocks_of(section: str) -> list[str]:
    """The page's Python blocks in a section."""
    blocks, here = [], ""
    for block, _ in read_page(PAGE).walk():
        if isinstance(block, Heading):
            here = block.attributes.id or here
        if isinstance(block, Code) and block.language == "python" and here == section:
            blocks.append(block.text)
    return blocks


def definitions(source: str) -> dict[str, tuple[int, int]]:
    """The first and the last line of each function and constant, by name."""
    lines_of = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            lines_of[node.name] = node.lineno, node.end_lineno or 0
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            lines_of[node.targets[0].id] = node.lineno, node.end_lineno or 0
    return lines_of


def replaced(source: str, block: str) -> str:
    """A file with the definitions of a block in place of its own of the same names."""
    for name, (first, last) in definitions(block).items():
        new = block.splitlines()[first - 1 : last]
        lines = source.splitlines()
        first, last = definitions(source)[name]
        source = "\n".join([*lines[: first - 1], *new, *lines[last:]]) + "\n"
    return source


def changed_copies(folder: Path, section: str) -> Path:
    """Write each file with the changes of a section of the page; return the script's copy."""
    for name, file in FILES.items():
        source = file.read_text()
        for block in blocks_of(section):
            where = block.splitlines()[0]
            if where.startswith("# in ") and name in where:
                source = replaced(source, block)
        (folder / name).write_text(source)
    return folder / "train_nn.py"


def imported(file: Path) -> ModuleType:
    """A copy as a module."""
    spec = importlib.util.spec_from_file_location(f"changed_{file.stem}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied_folder(folder: Path, section: str) -> Path:
    """Copy the folder that is sent, with the changes of a section of the page."""
    shutil.copytree(ROOT / "training", folder, ignore=shutil.ignore_patterns("__pycache__"))
    changed_copies(folder, section)
    return folder


def table_of_three(file: Path) -> Path:
    """Write a CSV table whose label has three words, which depend on its first column."""
    kinds = ("low", "middle", "high")
    lines = [f"{row % 30},{row % 7},{kinds[row % 30 // 10]}" for row in range(150)]
    file.write_text("\n".join(["size,noise,kind", *lines]) + "\n")
    return file
