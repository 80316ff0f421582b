"""axe-core, which looks in a page for what keeps people out of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGE = "axe-core@4.14.1"
FOUND = """.then(({violations}) => violations.map(
  ({id, help, nodes}) => [id, help, nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]))"""
VIOLATIONS = f"axe.run(){FOUND}"
# In JupyterLab: what is ours. JupyterLab makes a wide cell scroll, and no key reaches its frame;
# pandas leaves the corner of each of its tables empty.
VIOLATIONS_IN_CELLS = f"""axe.run(
  {{include: [['.jp-RenderedMarkdown'], ['.jp-OutputArea-output']].filter(
    ([each]) => document.querySelector(each)),
    exclude: [['table.dataframe th:empty']]}},
  {{rules: {{'scrollable-region-focusable': {{enabled: false}}}}}}){FOUND}"""


def script(folder: Path) -> str:
    """Its script, which npm brings into the folder; the test is skipped without npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm is installed, which brings axe-core")
    command = [npm, "install", "--silent", "--ignore-scripts", "--prefix", folder, PACKAGE]
    subprocess.run(command, check=True)
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
