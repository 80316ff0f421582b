"""How long a page takes, by one formula: words, lines of code and cells of its core.

A minute is 200 words or 10 lines of code; running a cell takes 10 seconds. If everybody types the
code with the instructor (live), a minute is 2.5 lines. Everything counts that
the reader of the page sees, except the exercises, which state their minutes in their titles, and
what a run has shown (tools/pictures/shown.py), which nobody reads word by word. A section whose
heading begins with `Optional:` is not part of the core.

`python -m tools.pages.pace` prints how dense the pages are: the characters of a page's file,
without what a run has shown, for each minute that the page plans; without its optional sections,
which no plan has minutes for, and with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.pages.folder import ROOT, Lesson
from tools.pages.links import heading_names, plain, without_comments, without_definitions
from tools.pages.scanner import Block, Code, Div, Heading, Page

WORDS, LINES, CELLS = 200, 10, 6  # to a minute
TYPED_LINES = 2.5  # to a minute, if everybody types them
LONGEST_CORE = 25  # minutes of teaching
DENSEST_CORE = 450  # characters a planned minute
OPTIONAL = "optional:"  # so begins the heading of an optional section
EXERCISES = frozenset({"challenge", "discussion"})
NOT_SHOWN = frozenset({"instructor", "hint", "solution", "spoiler"})
MINUTES = re.compile(r"\((\d+) min(?:utes?)?\)")
_HIDDEN = re.compile(r"""\{[^{}]*\balt=(?:"[^"]*"|'[^']*')[^{}]*\}|(?<=\])\([^)\s]*\)""")
_WORD = re.compile(r"\w[^\s|]*")


@dataclass(frozen=True)
class Pace:
    """The minutes of a page: of its core, and of what is optional, exercises included.

    teaching: where learners run the cells; live: where they type them with the instructor.
    """

    teaching: float
    live: float
    exercises: int
    optional: float


def is_optional(heading: Heading) -> bool:
    """Tell whether a heading begins an optional section."""
    return plain(heading.text).strip().casefold().startswith(OPTIONAL)


def split(blocks: Iterable[Block]) -> tuple[list[Block], list[Block]]:
    """Return the blocks of the core and those of the optional sections, in page order.

    An optional section ends at the next heading of its level or above; the instructors' notes and
    the key points are never optional.
    """
    parts: tuple[list[Block], list[Block]] = ([], [])
    level = 0  # of the heading of the optional section around; 0 outside of one
    for block in blocks:
        if isinstance(block, Heading) and (not level or block.level <= level):
            level = block.level if is_optional(block) else 0
        kinds = set(block.classes) if isinstance(block, Div) else set()
        parts[bool(level) and not kinds & {"instructor", "keypoints"}].append(block)
    return parts


def visible_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield what everybody reads, in page order; an exercise is one block."""
    for block in blocks:
        kinds = set(block.classes) if isinstance(block, Div) else set()
        if not isinstance(block, Div) or kinds & EXERCISES:
            yield block
        elif not kinds & NOT_SHOWN:
            yield from visible_blocks(block.children)


def minutes_of(blocks: Iterable[Block], lines_a_minute: float = LINES) -> float:
    """Return the minutes that the formula gives for blocks, without their exercises."""
    words = lines = cells = 0
    for block in visible_blocks(blocks):
        if isinstance(block, Code) and (block.language or "").startswith("python"):
            lines += sum(bool(line.strip()) for line in block.text.split("\n"))
            cells += block.live
        elif is_shown(block):
            continue
        elif not isinstance(block, Div):
            words += count_words(block.text)
    return words / WORDS + lines / lines_a_minute + cells / CELLS


def is_shown(block: Block) -> bool:
    """Tell whether a block is what a run has shown."""
    return isinstance(block, Code) and "shown" in block.attributes.classes


def count_words(text: str) -> int:
    """Count the words that are read: not the targets of links, nor what pictures are said to show.

    Cells of a table are separate words, its rules are none.
    """
    return len(_WORD.findall(_HIDDEN.sub("", without_definitions(without_comments(text)))))


def minutes_in_title(challenge: Div) -> int | None:
    """Return the minutes in a challenge's title, `### Exercise: … (5 minutes)`; None without."""
    title = next((block for block in challenge.children if isinstance(block, Heading)), None)
    match = MINUTES.search(title.text) if title else None
    return int(match[1]) if match else None


def sum_of_exercises(blocks: Sequence[Block]) -> int:
    """Return the minutes that the challenges among blocks state."""
    boxes = [block for block in visible_blocks(blocks) if isinstance(block, Div)]
    return sum(minutes_in_title(div) or 0 for div in boxes if "challenge" in div.classes)


def pace(page: Page) -> Pace:
    """Return the minutes of a page."""
    core, optional = split(page.blocks)
    extra = minutes_of(optional) + sum_of_exercises(optional)
    return Pace(minutes_of(core), minutes_of(core, TYPED_LINES), sum_of_exercises(core), extra)


def minutes_of_section(page: Page, name: str) -> float:
    """Return the minutes of the section with this id and its exercises, optional ones left out."""
    core = section(page, name)
    return minutes_of(core) + sum_of_exercises(core)


def section(page: Page, name: str) -> list[Block]:
    """Return the blocks of the section with this id, without those of optional sections in it.

    A section ends at the next heading of its level or above. Without a name it is the page's
    beginning, before its first heading.
    """
    names = {heading.line: named for heading, named, _ in heading_names(page)}
    blocks, level = [], 0 if name else 9
    for block in page.blocks:
        if isinstance(block, Heading):
            if level and block.level <= level:
                level = 0
            if not level and names[block.line] == name:
                level = block.level
        if level:
            blocks.append(block)
    return split(blocks)[0]


def density(page: Page) -> tuple[int, int]:
    """Return the characters of a page for each minute that it plans: of its core, and of it all."""
    facts = page.front_matter or {}
    minutes = facts["teaching"] + facts["exercises"]
    shown: set[int] = set()
    for block, _ in page.walk():
        if isinstance(block, Code) and is_shown(block):
            shown.update(range(block.line, block.end + 1))
    everything = sum(len(text) + 1 for line, text in enumerate(page.lines, 1) if line not in shown)
    _, optional = split(page.blocks)
    core = everything - characters_of(optional)
    return round(core / minutes), round(everything / minutes)


def characters_of(blocks: Iterable[Block]) -> int:
    """Return the characters of blocks and of their boxes, without what a run has shown."""
    return sum(
        characters_of(block.children) if isinstance(block, Div) else len(block.text)
        for block in blocks
        if not is_shown(block)
    )


def table_of_densities(lesson: Lesson) -> str:
    """Return the characters a planned minute of every episode, as a table in Markdown."""
    rows = ["| episode | core | with what is optional |", "|---|---|---|"]
    for path in episodes(lesson):
        rows.append(_row(path.stem, density(lesson.page(path))))
    return "\n".join(rows)


def table(lesson: Lesson) -> str:
    """Return the minutes of every episode by the formula, as a table in Markdown."""
    columns = ["guided", "live", "exercises", "together, guided", "together, live", "optional"]
    rows = [f"| episode | {' | '.join(columns)} |", "|---" * 7 + "|"]
    totals = [0] * 6
    for path in episodes(lesson):
        page = lesson.page(path)
        paced = pace(page)
        guided, live, exercises = round(paced.teaching), round(paced.live), paced.exercises
        minutes = [guided, live, exercises, guided + exercises, live + exercises]
        minutes.append(round(paced.optional))
        totals = [total + each for total, each in zip(totals, minutes, strict=True)]
        title = (page.front_matter or {}).get("title")
        rows.append(_row(f"{path.name[:2]} {title}", minutes))
    return "\n".join([*rows, _row("all", totals)])


def episodes(lesson: Lesson) -> list[Path]:
    """Return the lesson's episodes, in the order of their names."""
    return sorted((lesson.root / "episodes").glob("*.md"))


def _row(name: str, minutes: Iterable[int]) -> str:
    return " | ".join([f"| {name}", *map(str, minutes)]) + " |"


if __name__ == "__main__":
    print(table_of_densities(Lesson(ROOT)))
