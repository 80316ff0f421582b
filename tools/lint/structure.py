"""Rules on front matter, headings, divs and code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tools.lint.registry import Doc, episode_rule, page_rule
from tools.pages.links import plain, without_comments
from tools.pages.scanner import FOLDED, LIST_MARKER, Block, Code, Div, Heading, Prose, walk

# Spellings of `python` that would silently make live code a block that nobody runs.
LIKE_PYTHON = frozenset({"py", "py3", "python", "python3", "ipython", "ipython3"})
FRAME = ("questions", "objectives", "keypoints")  # what every episode has exactly once
# Tables, quotations, lines across, formulas, terms with definitions, and HTML that makes boxes.
_LOST_IN_TABS = re.compile(
    r"""^\s*(?: \|?\s*:?-+:?\s*\| | \+[-=]+\+ | -{2,}(?:\s+-{2,})+\s*$
      | > | ([-*_])(?:\s*\1){2,}\s*$ | \$\$ | :\s
      | <(?:table|blockquote|hr|dl|div|details|iframe|video|audio)\b )""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
Found = Iterator[tuple[int, str]]


def headings(doc: Doc) -> list[Heading]:
    """Return the headings of a page, those in divs included."""
    return [block for block, _ in doc.page.walk() if isinstance(block, Heading)]


def divs(doc: Doc, *classes: str) -> list[tuple[Div, tuple[Div, ...]]]:
    """Return the divs of a page with one of these classes, each with the divs around it."""
    wanted = set(classes)
    walked = doc.page.walk()
    return [(b, around) for b, around in walked if isinstance(b, Div) and wanted & set(b.classes)]


def _find_recorded(doc: Doc, kind: str) -> Found:
    """Return the scanner's own findings of one kind."""
    return (
        (problem.line, problem.message) for problem in doc.page.problems if problem.kind == kind
    )


# --- front matter ---


@page_rule("front-matter")
def front_matter(doc: Doc) -> Found:
    """Require front matter.

    `---` in the first line, no blank second line, valid YAML, and its end.
    """
    return _find_recorded(doc, "front-matter")


@page_rule("front-matter-title")
def front_matter_title(doc: Doc) -> Found:
    """Require that every page has a title; the home page's is the lesson's, in config.yaml."""
    front = doc.page.front_matter
    home = doc.path == doc.lesson.root / "index.md"
    title = (front or {}).get("title")
    if front is not None and not home and not (isinstance(title, str) and title.strip()):
        yield 1, "the front matter has no title; add a line `title: …`"


@episode_rule("front-matter-times")
def front_matter_times(doc: Doc) -> Found:
    """`teaching` and `exercises` are whole numbers of minutes."""
    front = doc.page.front_matter
    for key in ("teaching", "exercises"):
        value = None if front is None else front.get(key)
        if front is not None and (type(value) is not int or value < 0):
            yield 1, f"`{key}` is not a whole number of minutes; write `{key}: 10`"


# --- headings ---


@page_rule("heading-first")
def heading_first(doc: Doc) -> Found:
    """Require that the first heading is level 2."""
    for heading in headings(doc)[:1]:
        if heading.level > 2:
            yield heading.line, f"the first heading is level {heading.level}; make it `##`"


@page_rule("heading-level-one")
def heading_level_one(doc: Doc) -> Found:
    """Require that no heading is level 1.

    That is the page's title, which the front matter gives.
    """
    for heading in headings(doc):
        if heading.level == 1:
            yield heading.line, f"the heading “{heading.text}” is level 1; make it `##`"


@page_rule("heading-jump")
def heading_jump(doc: Doc) -> Found:
    """Require that levels go down one at a time."""
    all_headings = headings(doc)
    for above, heading in pairwise(all_headings):
        if heading.level > above.level + 1:
            wanted = "#" * (above.level + 1)
            yield heading.line, f"level {heading.level} follows level {above.level}; use `{wanted}`"


@page_rule("heading-empty")
def heading_empty(doc: Doc) -> Found:
    """Require that every heading has a name."""
    for heading in headings(doc):
        if not without_comments(heading.text).strip():
            yield heading.line, "this heading is empty; name it or take it out"


@page_rule("heading-unique")
def heading_unique(doc: Doc) -> Found:
    """Require that headings under the same heading differ; those in divs count."""
    seen: dict[tuple[str, ...], int] = {}
    above: list[tuple[int, str]] = []
    for heading in headings(doc):
        above = [(level, name) for level, name in above if level < heading.level]
        above.append((heading.level, plain(heading.text).casefold().strip()))
        place = tuple(name for _, name in above)
        if heading.text.strip() and place in seen:
            first = seen[place]
            yield heading.line, f"the heading “{heading.text}” is also on line {first}; rename one"
        seen.setdefault(place, heading.line)


@page_rule("heading-id")
def heading_id(doc: Doc) -> Found:
    """Require an `{#id}` of a heading that starts with a number.

    Tools make different names of it.
    """
    for heading in headings(doc):
        if re.match(r"\W*\d", plain(heading.text)) and not heading.attributes.id:
            yield (
                heading.line,
                f"the heading “{heading.text}” has no id; write `{{#name}}` after it",
            )


# --- divs ---


@page_rule("div-balance")
def div_balance(doc: Doc) -> Found:
    """Require that as many divs are closed as opened."""
    return _find_recorded(doc, "div-balance")


@page_rule("div-fence")
def div_fence(doc: Doc) -> Found:
    """Require that a div opens with `::: name` or `::: {…}` and closes with 3 to 80 colons."""
    return _find_recorded(doc, "div-fence")


@page_rule("div-class")
def div_class(doc: Doc) -> Found:
    """Require that a div has a class, and no class that the Workbench does not know."""
    return _find_recorded(doc, "div-class")


@episode_rule("div-required")
def div_required(doc: Doc) -> Found:
    """Require that an episode has exactly one each of questions, objectives and keypoints."""
    for name in FRAME:
        of_kind = divs(doc, name)
        if not of_kind:
            yield 1, f"the episode has no `{name}`; add a div with a list"
        for div, _ in of_kind[1:]:
            yield (
                div.line,
                f"this is a second `{name}`; join it with the one on line {of_kind[0][0].line}",
            )


@episode_rule("div-order")
def div_order(doc: Doc) -> Found:
    """Require that questions and objectives come before all else, keypoints after all else."""
    if doc.page.front_matter is None:
        return  # its lines would count as text above the questions
    blocks = doc.page.blocks
    kinds = [b.classes[0] if isinstance(b, Div) and b.classes else "" for b in blocks]
    for name in FRAME:
        if len(divs(doc, name)) != 1:
            continue
        div, around = divs(doc, name)[0]
        at = -1 if around else kinds.index(name) if name in kinds else -1
        after = [b for b in blocks[at + 1 :] if not (isinstance(b, Prose) and _only_definitions(b))]
        if name == "keypoints" and (at < 0 or after):
            yield div.line, "`keypoints` is not the end of the page; move it there"
        elif name != "keypoints" and not 0 <= at <= 1:
            yield div.line, f"`{name}` is not at the top of the page; move it there"


def _only_definitions(prose: Prose) -> bool:
    return all(re.match(r"\s*(\[[^\]]+\]:|$)", line) for line in prose.text.split("\n"))


def has_list(blocks: list[Block]) -> bool:
    """Return whether some of these blocks is prose with a list."""
    prose = [block.text for block in blocks if isinstance(block, Prose)]
    return any(LIST_MARKER.match(line) for text in prose for line in text.split("\n"))


@episode_rule("div-list")
def div_list(doc: Doc) -> Found:
    """Require that questions, objectives and keypoints each hold a list."""
    for div, _ in divs(doc, *FRAME):
        if not has_list(div.children):
            yield div.line, f"`{div.classes[0]}` holds no list; write each item as `- …`"


@page_rule("div-in-challenge")
def div_in_challenge(doc: Doc) -> Found:
    """Require that solutions and hints are inside a challenge."""
    for div, around in divs(doc, "solution", "hint"):
        if not any("challenge" in outer.classes for outer in around):
            yield div.line, f"`{div.classes[0]}` is outside a challenge; move it into one"


@page_rule("challenge-parts")
def challenge_parts(doc: Doc) -> Found:
    """Require a new part, with its own heading, after a solution inside a challenge."""
    for challenge, _ in divs(doc, "challenge"):
        answered = False
        for block in challenge.children:
            if isinstance(block, Div) and "solution" in block.classes:
                answered = True
            elif isinstance(block, Heading):
                answered = False
            elif answered and not (
                isinstance(block, Div) and {"hint", "instructor"} & set(block.classes)
            ):
                answered = False
                yield block.line, "this part after a solution has no heading; give it one"


@page_rule("div-tab")
def div_tab(doc: Doc) -> Found:
    """Require that tabs hold headings, paragraphs, lists, figures and code only.

    Other things vanish.
    """
    for tab, _ in divs(doc, "tab", "group-tab"):
        for block in tab.children:
            if isinstance(block, Div):
                yield block.line, "a tab cannot hold a div; move it out of the tab"
            elif isinstance(block, Prose) and (lost := _LOST_IN_TABS.search(block.text)):
                line = block.line + block.text.count("\n", 0, lost.end())
                yield (
                    line,
                    "a tab cannot show this; write text or a list, or move it out of the tab",
                )


# --- code ---


@page_rule("code-closed")
def code_closed(doc: Doc) -> Found:
    """Require that every code fence is closed."""
    return _find_recorded(doc, "code")


@page_rule("comment-closed")
def comment_closed(doc: Doc) -> Found:
    """Require that every comment is closed."""
    return _find_recorded(doc, "comment")


@page_rule("code-info")
def code_info(doc: Doc) -> Found:
    """Require one language, or attributes such as `{.python .display}`, after a code fence."""
    for block in (block for block, _ in doc.page.walk() if isinstance(block, Code)):
        if block.language is None:
            fix = "write `python` or `{.python .display}`"
            yield block.line, f"`{block.info}` is no language; {fix}"
        elif block.language != "python" and block.language.casefold() in LIKE_PYTHON:
            yield block.line, f"`{block.language}` makes no live code; write `python`"


@page_rule("code-output")
def code_output(doc: Doc) -> Found:
    """Require that an output block comes right after the live Python block that prints it."""
    for siblings, folded in _sibling_lists(doc.page.blocks, False):
        before: Block | None = None
        for block in siblings:
            if isinstance(block, Code) and block.language == "output":
                live = isinstance(before, Code) and before.live and not folded
                if not live:
                    yield block.line, "no live code prints this output; mark the block as `text`"
            before = block


def _sibling_lists(blocks: list[Block], folded: bool) -> Iterator[tuple[list[Block], bool]]:
    """Yield each list of blocks that stand side by side, and whether it is in a folded div."""
    yield blocks, folded
    for block in blocks:
        if isinstance(block, Div):
            yield from _sibling_lists(block.children, folded or bool(FOLDED & set(block.classes)))


@page_rule("code-in-hint")
def code_in_hint(doc: Doc) -> Found:
    """Require that Python in a hint or a spoiler is for display.

    A live cell cannot be folded away.
    """
    for div, _ in divs(doc, *FOLDED):
        for block, _ in walk(div.children):
            if isinstance(block, Code) and block.live:
                yield block.line, "live code cannot be folded away; mark it `{.python .display}`"
