"""Copies of the learners' notebooks to work in, and the page to start from: `make lab` makes them.

A copy in work/ has no outputs, so that nothing looks as if it had been run, and is never written
over, so that nobody's answers are lost. Where a notebook links to a learners' page, its copy links
to the one in work/pages/, which is written each time. git ignores work/: the notebooks in
notebooks/ stay as they were made.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tools.environment.kernel import IPYTHON, install_kernel, install_lesson
from tools.environment.packages import install_packages
from tools.lab import start_page
from tools.notebooks.pages import write_pages
from tools.pages.folder import ROOT

_TO_PAGE = re.compile(r"""(?<=[("])\.\./learners/(?=[\w-]+\.md)""")


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
            else:
                cell["source"] = _TO_PAGE.sub("pages/", "".join(cell["source"]))
        copy.write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")
        copies.append(copy)
    return copies


def prepare() -> None:
    """Make work/ ready for JupyterLab, and say what is new there."""
    # Also into an environment that conda has made.
    install_packages(Path(sys.prefix))
    install_lesson(Path(sys.prefix, IPYTHON))
    install_kernel(Path(sys.prefix))
    made = len(copy_new())
    write_pages(ROOT)
    start_page.write()
    if made:
        print(f"Notebooks new in work/: {made}. They are yours; begin with {start_page.NAME}.")
    print("For a fresh copy of a notebook, delete it in work/ and run this again.")


if __name__ == "__main__":
    prepare()
