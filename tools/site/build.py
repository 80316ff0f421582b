"""Runs Sphinx, once for each view, and puts what it made into the site's folder."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from tools.site.book import Book
from tools.site.plan import Plan
from tools.site.targets import ASSETS

THEME = Path(__file__).parent / "theme"
MARK = '<meta name="generator" content="make site">'  # of pages that a later run may take away
SIDEBAR = ("view", "brand", "search", "scroll-start", "navigation", "scroll-end")
UNUSED = ("*.map", "*.png", "basic.css", "debug.css", "skeleton.css")  # of what Sphinx copies
_BLANKS = re.compile(r"\n\s+")
_UNUSED_ICONS = re.compile(r'<symbol id="svg-(?:pencil|eye)".*?</symbol>', re.DOTALL)
_PRE = re.compile(r"(<pre.*?</pre>)", re.DOTALL)


def write(root: Path, site: Path) -> int:
    """Write the site into a folder, and say how many pages it has.

    Pages of an earlier run that the lesson no longer has are removed; other files stay.
    """
    plan = Plan(root)
    count = 0
    with tempfile.TemporaryDirectory(prefix="site-") as folder:
        made = Path(folder, "site")
        for instructor, view in ((False, made), (True, made / "instructor")):
            book = Book(plan, instructor)
            build(book, Path(folder), view)
            count += len(book.entries)
        lighten(made)
        for page in [*site.glob("*.html"), *site.glob("instructor/*.html")]:
            if MARK in page.read_text(encoding="utf-8", errors="replace"):
                page.unlink()
        shutil.copytree(made, site, dirs_exist_ok=True)
    for name in ASSETS:
        if (plan.root / "episodes" / name).is_dir():
            shutil.copytree(plan.root / "episodes" / name, site / name, dirs_exist_ok=True)
    return count


def build(book: Book, folder: Path, made: Path) -> None:
    """Have Sphinx write the pages of a book into `made`; `folder` is for its own files."""
    sources = folder / f"sources-{made.name}"
    sources.mkdir()
    for name in book.entries:
        (sources / f"{name}.md").touch()
    with patch_docutils(), docutils_namespace():
        sphinx = Sphinx(
            srcdir=sources,
            confdir=None,
            outdir=made,
            doctreedir=folder / f"doctrees-{made.name}",
            buildername="html",
            confoverrides=settings(book),
            status=None,
            warning=sys.stderr,
            freshenv=True,
            warningiserror=True,
        )
        sphinx.add_source_parser(book.parser())
        sphinx.connect("html-page-context", lambda *given: given[3].update(book.context(given[1])))
        sphinx.build()
    (made / "objects.inv").unlink()
    (made / ".buildinfo").unlink()


def lighten(site: Path) -> None:
    """Take away what no page needs; both views get the same style sheets and scripts."""
    shutil.rmtree(site / "instructor/_static")
    for pattern in UNUSED:
        for file in (site / "_static").rglob(pattern):
            file.unlink()
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if page.parent != site:
            text = text.replace('"_static/', '"../_static/')
        page.write_text(shorter(text), encoding="utf-8")


def shorter(page: str) -> str:
    """Return a page without icons that none uses, and the blanks before lines that are no code."""
    parts = _PRE.split(_UNUSED_ICONS.sub("", page))
    return "".join(part if at % 2 else _BLANKS.sub("\n", part) for at, part in enumerate(parts))


def settings(book: Book) -> dict[str, Any]:
    """Return Sphinx's settings. Everything works on pages that are opened as files, offline."""
    title = str(book.plan.config["title"])
    return {
        "project": title,
        "extensions": ["sphinx_copybutton"],
        "source_suffix": {".md": "lesson"},
        "smartquotes": False,
        "suppress_warnings": ["toc.not_included"],  # the list of pages is a template of ours
        "templates_path": [str(THEME)],
        "html_theme": "furo",
        "html_title": f"{title} (instructors)" if book.instructor else title,
        "html_static_path": [str(THEME / "static")],
        "html_css_files": ["lesson.css"],
        "html_js_files": [("lesson.js", {"defer": "defer"})],
        "html_sidebars": {"**": [f"sidebar/{part}.html" for part in SIDEBAR]},
        "html_copy_source": False,
        "html_use_index": False,
        "html_permalinks": False,
        "html_show_search_summary": False,  # it is fetched, which a browser forbids to a file
        "copybutton_selector": "div.code pre",
    }
