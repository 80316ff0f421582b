"""Copies of the learners' notebooks to work in, and the page to start from: `make lab` makes them.

A copy in work/ has no outputs, so that nothing looks as if it had been run, and is never written
over, so that nobody's answers are lost. The pages that notebooks link to are copied each time. git
ignores work/: the notebooks in notebooks/ stay as they were made.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tools import start_page
from tools.environment import IPYTHON, install_kernel, install_lesson
from tools.folder import ROOT


def copy_new(root: Path = ROOT) -> list[Path]:
    """Copy the notebooks that work/ does not have yet; returns the copies."""
    work = root / "work"
    work.mkdir(exist_ok=True)
    copies = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        copy = work / path.name
        if copy.exists():
            continue
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell.update(outputs=[], execution_count=None)
        copy.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")
        copies.append(copy)
    if (root / "notebooks" / "pages").is_dir():
        shutil.copytree(root / "notebooks" / "pages", work / "pages", dirs_exist_ok=True)
    return copies


def prepare() -> None:
    """Make work/ ready for JupyterLab, and say what is new there."""
    install_lesson(Path(sys.prefix, IPYTHON))  # also into an environment that conda has made
    install_kernel(Path(sys.prefix))
    made = len(copy_new())
    start_page.write()
    if made:
        print(f"Notebooks new in work/: {made}. They are yours; begin with {start_page.NAME}.")
    print("For a fresh copy of a notebook, delete it in work/ and run this again.")


if __name__ == "__main__":
    prepare()
