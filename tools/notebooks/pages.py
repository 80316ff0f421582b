"""The learners' pages as Markdown that JupyterLab shows as the site shows them: work/pages/.

`make lab` and `make hub` write them, so that a link in a notebook opens a page without a network.
"""

from __future__ import annotations

from pathlib import Path

from tools.notebooks.cells import HIDDEN_FROM_LEARNERS, Cells
from tools.notebooks.links import Episodes, Links, read_episodes

NOTICE = "<!-- Written by `make lab` from {page}: change that page, not this file. -->"


def write_pages(root: Path) -> None:
    """Write every learners' page into work/pages/. Raises PageError."""
    lesson = read_episodes(root)
    folder = lesson.root / "work" / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    for path in lesson.beside:
        (folder / path.name).write_text(page_markdown(lesson, path, folder), encoding="utf-8")


def page_markdown(lesson: Episodes, path: Path, folder: Path) -> str:
    """Return a learners' page as Markdown; folder: where it is written to."""
    page = lesson.beside[path]
    made = Cells(Links(lesson, path, folder), HIDDEN_FROM_LEARNERS, live=False)
    made.blocks(page.blocks)
    made.flush()
    parts = [NOTICE.format(page=path.relative_to(lesson.root).as_posix())]
    parts.append(f"# {(page.front_matter or {})['title']}")
    for cell in made.cells:
        parts += [f'<a id="{cell.name}"></a>'] if cell.name else []
        parts.append(cell.text)
    return "\n\n".join(parts) + "\n"
