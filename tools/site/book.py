"""What Sphinx is told about one view of the lesson: its pages, their order, what is beside them."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers import Parser

from tools.lab.alone import elsewhere
from tools.site.overviews import key_points, notes, timetable
from tools.site.page import PageNodes, raw, section
from tools.site.plan import INDEX, KEY_POINTS, NOTES, Entry, Plan, Way


class Book:
    """The pages of one view, each by the name that Sphinx has for it: its file's, without .html."""

    def __init__(self, plan: Plan, instructor: bool) -> None:
        """Take the pages that the view has."""
        self.plan = plan
        self.instructor = instructor
        self.entries = {entry.name: entry for entry in plan.of(instructor)}

    def parser(self) -> type[Parser]:
        """Return the parser that Sphinx calls for each page."""
        book = self

        class PageParser(Parser):
            """Ignores a file's text, and puts the nodes of the page of that name in its place."""

            supported = ("lesson",)

            def parse(self, inputstring: str, document: nodes.document) -> None:
                """Make a page."""
                self.setup_parse(inputstring, document)
                document += book.page(book.entries[Path(document["source"]).stem])
                self.finish_parse()

        return PageParser

    def page(self, entry: Entry) -> nodes.Element:
        """Return all of a page."""
        page = section("top-of-page", entry.title)
        if entry.minutes:
            times = f"teaching {entry.teaching} min, exercises {entry.exercises} min"
            page += raw(f'<p class="times">Episode {entry.number}: {times}</p>')
            page += self._notebook(entry)
        if entry.path:
            PageNodes(self.plan, entry.path, self.instructor).fill(
                page, self.plan.page(entry.path).blocks
            )
        if entry.file == INDEX:
            page += timetable(self.plan, self.instructor)
        elif entry.file == NOTES:
            page += notes(self.plan)
        elif entry.file == KEY_POINTS:
            page += key_points(self.plan, self.instructor)
        return page

    def _notebook(self, entry: Entry) -> list[nodes.Node]:
        """Return where an episode's notebook can be opened, if it can be anywhere."""
        config = self.plan.config
        file = f"notebooks/{entry.name}.ipynb"
        urls = elsewhere(str(config.get("source", "")), str(config.get("branch", "main")), file)
        links = " or ".join(
            f'<a href="{html.escape(url)}">{place}</a>' for place, url in urls.items()
        )
        return [raw(f"<p>Open the notebook in {links}.</p>")] if urls else []

    def context(self, name: str) -> dict[str, Any]:
        """Return what the templates in theme/ show of a page."""
        before: list[Way] = []
        after: list[Way] = []
        entry = self.entries.get(name)  # None: the search
        if entry:
            before, after = self.plan.neighbours(entry, self.instructor)
        both = entry is None or entry in self.plan.of(not self.instructor)
        other = f"{name}.html" if both else INDEX
        return {
            "groups": self.plan.group(self.instructor),
            "instructor": self.instructor,
            "other": f"../{other}" if self.instructor else f"instructor/{other}",
            "before": before,
            "after": after,
            "lesson": self.plan.config,
        }
