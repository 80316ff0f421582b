"""Every page of the site as text, and the files that go with them."""

from __future__ import annotations

import re
import shutil
import textwrap
from html import unescape
from pathlib import Path

import jinja2

from tools.site.body import Body
from tools.site.gathered import key_points, notes, timetable
from tools.site.plan import INDEX, NOTES, Entry, Plan
from tools.site.targets import ASSETS

HERE = Path(__file__).parent
STATIC = ("style.css", "script.js")
MARK = '<meta name="generator" content="make site">'  # of pages that a later run may take away


def pages(plan: Plan) -> dict[str, str]:
    """Return the text of every page, by its place in the site."""
    loader = jinja2.FileSystemLoader(HERE)
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    template = environment.get_template("page.html")
    made = {}
    for instructor, folder in ((False, ""), (True, "instructor/")):
        for entry in plan.of(instructor):
            made[folder + entry.file] = _page(plan, entry, instructor, template=template)
    return made


def _page(plan: Plan, entry: Entry, instructor: bool, *, template: jinja2.Template) -> str:
    before, after = plan.neighbours(entry, instructor)
    main = _main(plan, entry, instructor)
    other = entry.file if entry in plan.of(not instructor) else INDEX
    return template.render(
        lesson=plan.config,
        entry=entry,
        instructor=instructor,
        mark=MARK,
        groups=plan.group(instructor),
        sections=_sections(main),
        before=before,
        after=after,
        other=other if instructor else f"instructor/{other}",
        main=main,
        summary=_summary(main),
        up="../" if instructor else "",
    )


def _main(plan: Plan, entry: Entry, instructor: bool) -> str:
    """Return what a page holds below its title."""
    if entry.path is None:
        return key_points(plan, instructor)
    body = Body(plan, entry.path, instructor).html(plan.page(entry.path).blocks)
    if entry.file == INDEX:
        return f"{body}\n{timetable(plan, instructor)}"
    if entry.file == NOTES:
        return f"{body}\n{notes(plan)}"
    return body


def _summary(main: str) -> str:
    """Return what a search engine shows below a page's title.

    These are its first words or, of an episode, its questions.
    """
    found = re.findall(r"<(?:p|li|dt|dd)>.*?</(?:p|li|dt|dd)>", main, re.DOTALL)
    words = unescape(re.sub(r"<[^>]*>", "", " ".join(found[:4])))
    return textwrap.shorten(words, 160, placeholder=" …")


def _sections(main: str) -> list[tuple[str, str]]:
    """(id, words) of a page's main headings, for the navigation; words are HTML, without links."""
    found = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', main)
    return [(name, re.sub(r"<[^>]*>", "", words)) for name, words in found if "<a " not in words]


def write(root: Path, site: Path) -> int:
    """Write the site into a folder, and say how many pages it has.

    Pages of an earlier run that the lesson no longer has are removed; other files stay.
    """
    plan = Plan(root)
    made = pages(plan)
    for folder in (site, site / "instructor"):
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.html"):
            gone = path.relative_to(site).as_posix() not in made
            if gone and MARK in path.read_text(encoding="utf-8", errors="replace"):
                path.unlink()
    for name, text in made.items():
        (site / name).write_text(text, encoding="utf-8")
    for name in STATIC:
        shutil.copyfile(HERE / name, site / name)
    for name in ASSETS:
        if (plan.root / "episodes" / name).is_dir():
            shutil.copytree(plan.root / "episodes" / name, site / name, dirs_exist_ok=True)
    return len(made)
