"""The page with which JupyterLab opens: where to begin, and every notebook with its minutes."""

from __future__ import annotations

import json
from pathlib import Path

from tools.pages.folder import ROOT, Lesson

NAME = "start-here.md"
PAGE = """\
# {title}

**Begin here: [{first}]({first_file})**, or with what your time allows:

| if you have | begin with |
|---|---|
| one hour | [a taster](pages/taster.md) |
| half a day | [half a day on Google Cloud](pages/half-day-google-cloud.md) or \
[on Amazon](pages/half-day-amazon.md) |
| a day | notebook 01; at the end, each notebook leads to the next one of the day |

Click a title to open its notebook. In a notebook, run one cell after the other from the top:
<kbd>Shift</kbd> + <kbd>Enter</kbd> runs a cell and goes to the next one.

| notebook | minutes | cells that you had run when JupyterLab started |
|---|---|---|
{rows}

{console}

If something goes wrong, [this list](pages/setup.md#trouble) may have it. All calls are on one page,
the [cheat sheet](pages/cheat-sheet.md), and all words in the [glossary](pages/reference.md).

The notebooks do not build on each other: each can be started alone. Those in this folder are your
copies; what you write in them stays yours. For a fresh copy, delete the file and run `make lab`
again, or `make hub` if that made this page.
"""


CONSOLE = """\
Your jobs, logs, files and costs are on [the pages of the local cloud]({address}). They ask you to
sign in once: run `import lesson; lesson.console()` in a notebook and click the link
([more](pages/local-cloud.md#console))."""


def write(root: Path = ROOT, console: str = "") -> Path:
    """Write the page beside the notebooks in work/; returns its path.

    console: the address of the local cloud's pages, if it is known.
    """
    lesson = Lesson(root)
    rows, titles = [], {}
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        facts = lesson.page(root / "episodes" / f"{notebook.stem}.md").front_matter or {}
        number = notebook.stem.partition("-")[0]
        minutes = facts["teaching"] + facts["exercises"]
        title = titles[notebook.name] = f"{number} {facts['title']}"
        run = cells_run(root / "work" / notebook.name)
        rows.append(f"| [{title}]({notebook.name}) | {minutes} | {run} |")
    first_file, first = next(iter(titles.items()), ("", ""))
    path = root / "work" / NAME
    path.parent.mkdir(exist_ok=True)
    title = (lesson.config() or {})["title"]
    told = CONSOLE.format(address=console) if console else ""
    text = PAGE.format(
        title=title, first=first, first_file=first_file, rows="\n".join(rows), console=told
    )
    path.write_text(text.replace("\n\n\n\n", "\n\n"), encoding="utf-8")
    return path


def cells_run(notebook: Path) -> str:
    """Return how many code cells of a notebook have been run, in words; "" if none has."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return ""
    counts = [cell.get("execution_count") for cell in cells if cell["cell_type"] == "code"]
    run = len(counts) - counts.count(None)
    if run == len(counts):
        return "✓ all" if counts else ""
    return f"{run} of {len(counts)}" if run else ""
