"""How a lesson page is read: front matter, then a tree of headings, divs, code and prose.

This is the one authority for the lint, the notebooks and the preview. It follows pandoc where
pages differ in practice: the length of a fence does not pair divs (the innermost open div is
closed), and colons inside code or comments are no fence. Reading never fails: what is wrong with
a page is recorded in `Page.problems`, with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

ATTRIBUTES = r"""\{\s*(?=[.\#]|[\w-]+=)(?:[^{}"']|"[^"]*"|'[^']*')*\}"""
LIST_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)")
_TOKEN = re.compile(
    r"""\.(?P<cls>[^\s.\#={}"']+) | \#(?P<id>[^\s{}]+)
      | (?P<key>[^\s={}"'\#.][^\s={}"']*)=(?:"(?P<d>[^"]*)"|'(?P<s>[^']*)'|(?P<w>[^\s{}"']+))""",
    re.VERBOSE,
)
_DEFINITION = re.compile(r"\s*:\s+(?=\S)")  # of a term, which a paragraph can follow as in a list
_HEADING = re.compile(rf"(#{{1,6}})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*({ATTRIBUTES})?[ \t]*")
_UNDERLINE = re.compile(r"(=+|-{2,})\s*")
_CODE = re.compile(r"(?P<fence>`{3,}|~{3,})\s*(?P<info>.*?)\s*")
_INFO = re.compile(rf"(?P<word>[^\s{{}}]*)\s*(?P<attributes>{ATTRIBUTES})?")
_DIV_OPEN = re.compile(rf":{{3,}}\s*(?:({ATTRIBUTES})|([^\s{{}}:][^\s{{}}]*))\s*:*\s*")
_DIV_CLOSE = re.compile(r":{3,}\s*")
# PyYAML lets its converters' own errors through, for instance for the date 2024-99-99.
YAML_ERRORS = (
    yaml.YAMLError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
LONGEST_CLOSING_FENCE = 80
KNOWN_DIVS = frozenset(
    [
        "callout",
        "objectives",
        "questions",
        "challenge",
        "prereq",
        "checklist",
        "solution",
        "hint",
        "discussion",
        "testimonial",
        "keypoints",
        "instructor",
        "spoiler",
        "tab",
        "group-tab",
        "caution",
    ]
)
FOLDED = frozenset({"hint", "spoiler"})  # shown folded away, so code in them is never a live cell


@dataclass(frozen=True)
class Attributes:
    """What stands between braces: `{#id .class key="value"}`."""

    id: str | None = None
    classes: tuple[str, ...] = ()
    pairs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Heading:
    """A heading, without its marks; `text` is Markdown."""

    line: int
    level: int
    text: str
    attributes: Attributes


@dataclass(frozen=True)
class Code:
    """A code block; `text` has the fence's own indentation taken off, `fence` is empty if indented.

    `language` is None where the words after the fence cannot be read.
    """

    line: int
    end: int
    text: str
    indent: int = 0
    fence: str = ""
    info: str = ""
    language: str | None = ""
    attributes: Attributes = Attributes()

    @property
    def live(self) -> bool:
        """Return whether a reader runs this block: Python, and not marked `.display`."""
        marked = "display" in self.attributes.classes
        return bool(self.fence) and self.language == "python" and not marked


@dataclass(frozen=True)
class Prose:
    """Lines of Markdown between two other blocks, blank lines at both ends left out."""

    line: int
    text: str


@dataclass
class Div:
    """A fenced div and what is in it. `end` is the closing fence's line (0: never closed)."""

    line: int
    attributes: Attributes
    end: int = 0
    children: list[Block] = field(default_factory=list)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the div's classes, in order; the first says what it is."""
        return self.attributes.classes


Block = Heading | Code | Prose | Div


@dataclass(frozen=True)
class Problem:
    """Something that cannot be read as meant; `kind` names what sort of thing."""

    line: int
    kind: str
    message: str


@dataclass
class Page:
    """A page as read. `front_matter` is None when it is missing or is no YAML mapping."""

    lines: list[str]
    front_matter: dict[str, Any] | None = None
    blocks: list[Block] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    body: int = 0  # index of the first line after the front matter

    def walk(self) -> Iterator[tuple[Block, tuple[Div, ...]]]:
        """Yield every block in page order, with the divs around it, outermost first."""
        yield from walk(self.blocks)


def walk(
    blocks: list[Block], around: tuple[Div, ...] = ()
) -> Iterator[tuple[Block, tuple[Div, ...]]]:
    """Yield the blocks and all that is in them, each with the divs around it."""
    for block in blocks:
        yield block, around
        if isinstance(block, Div):
            yield from walk(block.children, (*around, block))


def read_attributes(text: str) -> Attributes:
    """Read `{#id .class key="value"}`; what is none of the three is passed over."""
    tokens = list(_TOKEN.finditer(text))
    ids = [token["id"] for token in tokens if token["id"]]
    values = {
        t["key"]: next(v for v in (t["d"], t["s"], t["w"]) if v is not None)
        for t in tokens
        if t["key"]
    }
    return Attributes(ids[0] if ids else None, tuple(t["cls"] for t in tokens if t["cls"]), values)


def scan(text: str) -> Page:
    """Read a page. Any text gives a `Page`."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    page = Page(lines)
    _read_front_matter(page)
    _Scanner(page).run()
    page.problems.sort(key=lambda problem: problem.line)
    return page


def _read_front_matter(page: Page) -> None:
    """Set `front_matter` and `body`, or record why not."""

    def wrong(line: int, message: str) -> None:
        page.problems.append(Problem(line, "front-matter", message))

    if page.lines[0].rstrip() != "---":
        return wrong(1, "the page has no front matter; start it with a line `---`")
    ends = [i for i, line in enumerate(page.lines) if i and line.rstrip() in ("---", "...")]
    if not ends:
        page.body = 1
        return wrong(1, "the front matter is never closed; end it with a line `---`")
    page.body = ends[0] + 1
    if not page.lines[1].strip():
        wrong(2, "the front matter starts with a blank line; take it out")
    try:
        data = yaml.safe_load("\n".join(page.lines[1 : ends[0]]))
    except yaml.MarkedYAMLError as error:
        # YAML knows more ends of lines than Markdown, so its own count may lead too far.
        line = min(error.problem_mark.line + 2, ends[0] + 1) if error.problem_mark else 1
        return wrong(line, f"the front matter is not valid YAML ({error.problem}); fix this line")
    except YAML_ERRORS:
        return wrong(1, "the front matter is not valid YAML; quote values with special characters")
    if isinstance(data, dict):
        page.front_matter = data
    else:
        wrong(1, "the front matter holds no `key: value` lines; add at least a title")
    return None


class _Scanner:
    """The stack of open divs, and the prose gathered since the last other block."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.stack: list[Div] = []
        self.prose: list[str] = []
        self.prose_start = 0
        self.list_indent = 0  # where the text of the list item we are in starts; 0 outside lists

    def run(self) -> None:
        """Read every line after the front matter."""
        at = self.page.body
        while at < len(self.page.lines):
            at = self._block(at)
        self._flush()
        if not any(problem.kind in ("code", "comment") for problem in self.page.problems):
            for div in self.stack:
                name = " ".join(div.classes)
                self._problem(
                    div.line,
                    "div-balance",
                    f"the div `{name}` is never closed; add `:::` at its end",
                )

    def _block(self, at: int) -> int:
        """Read the block that starts at a line; return where the next one starts."""
        line = self.page.lines[at].expandtabs(4)
        text = line.lstrip()
        indent = len(line) - len(text)
        if indent >= self.list_indent + 4 and text and not (self.prose and self.prose[-1].strip()):
            return self._indented_code(at)
        if indent < self.list_indent + 4:
            code = _CODE.fullmatch(text)
            if code and not (code["fence"][0] == "`" and "`" in code["info"]):
                return self._code(at, indent, code)
            if text.startswith("<!--"):
                return self._comment(at, line, indent)
            if text.startswith(":::"):
                return self._div(at, text, indent)
            heading = _HEADING.fullmatch(text)
            if heading and indent < 4:
                marks, name, braces = heading.groups()
                self._add(Heading(at + 1, len(marks), name or "", read_attributes(braces or "")))
                self.list_indent = 0
                return at + 1
        if _UNDERLINE.fullmatch(text) and self._underlines():
            name, level = self.prose.pop().strip(), 1 if text[0] == "=" else 2
            self._add(Heading(at, level, name, Attributes()))
            return at + 1
        self._take_prose(at, line, indent)
        return at + 1

    def _take_prose(self, at: int, line: str, indent: int) -> None:
        after_blank = not self.prose or not self.prose[-1].strip()
        marker = LIST_MARKER.match(line) or _DEFINITION.match(line)
        if marker:
            self.list_indent = marker.end()
        elif line.strip() and after_blank:
            self.list_indent = min(self.list_indent, indent)
        if not self.prose:
            self.prose_start = at
        self.prose.append(self.page.lines[at])

    def _underlines(self) -> bool:
        """Return whether the prose ends in a paragraph of one line: `---` makes it a heading."""
        above = [*self.prose[-2:]]
        one_line = (
            bool(above) and bool(above[-1].strip()) and (len(above) == 1 or not above[0].strip())
        )
        return one_line and not LIST_MARKER.match(above[-1]) and above[-1].lstrip()[0] not in "|>"

    def _code(self, at: int, indent: int, opening: re.Match[str]) -> int:
        lines, fence = self.page.lines, opening["fence"]
        closing = re.compile(rf" {{0,{indent + 3}}}{fence[0]}{{{len(fence)},}}\s*")
        ends = (i for i in range(at + 1, len(lines)) if closing.fullmatch(lines[i].expandtabs(4)))
        end = next(ends, None)
        if end is None:
            self._problem(at + 1, "code", f"this code fence is never closed; add a line `{fence}`")
            end = len(lines)
        body = [re.sub(rf"^[ \t]{{0,{indent}}}", "", line) for line in lines[at + 1 : end]]
        info = _INFO.fullmatch(opening["info"])
        attributes = read_attributes(info["attributes"] or "") if info else Attributes()
        language = info and (info["word"] or next(iter(attributes.classes), ""))
        self._add(
            Code(
                at + 1,
                end + 1,
                "\n".join(body),
                indent,
                fence,
                opening["info"],
                language,
                attributes,
            )
        )
        self.list_indent = min(self.list_indent, indent)
        return end + 1

    def _indented_code(self, at: int) -> int:
        lines, depth = self.page.lines, self.list_indent + 4
        end = at
        while end < len(lines) and (
            lines[end].expandtabs(4)[:depth].isspace() or not lines[end].strip()
        ):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        body = [line.expandtabs(4)[depth:] for line in lines[at:end]]
        self._add(Code(at + 1, end, "\n".join(body), depth))
        return end

    def _comment(self, at: int, line: str, indent: int) -> int:
        """Pass over HTML comments: nothing in them is shown, so nothing in them counts.

        With text after them on their last line they are part of that prose.
        """
        lines, end, rest = self.page.lines, at, line.lstrip()
        while rest.startswith("<!--"):
            rest = rest.removeprefix("<!--")
            while "-->" not in rest:
                end += 1
                if end == len(lines):
                    self._flush()
                    self._problem(at + 1, "comment", "this comment is never closed; add `-->`")
                    return end
                rest = lines[end]
            rest = rest.partition("-->")[2].lstrip()
        if rest:
            self._take_prose(at, line, indent)
            self.prose += lines[at + 1 : end + 1]
        else:
            self._flush()
        return end + 1

    def _div(self, at: int, text: str, indent: int) -> int:
        opening = _DIV_OPEN.fullmatch(text)
        if indent == 1 or indent > self.list_indent:
            message = "blanks before a fence make it text; take them out, or some in a list item"
            self._problem(at + 1, "div-fence", message)
        if opening:
            braces, word = opening.groups()
            attributes = read_attributes(braces) if braces else Attributes(classes=(word,))
            div = Div(at + 1, attributes)
            if not div.classes or not KNOWN_DIVS.issuperset(div.classes):
                name = " ".join(div.classes) or "without a class"
                known = ", ".join(sorted(KNOWN_DIVS))
                self._problem(at + 1, "div-class", f"there is no div `{name}`; use one of {known}")
            self._add(div)
            self.stack.append(div)
        elif not _DIV_CLOSE.fullmatch(text):
            message = (
                "this line starts like a div and is none; write `::: name` or `::: {.name #id}`"
            )
            self._problem(at + 1, "div-fence", message)
        elif not self.stack:
            self._problem(
                at + 1, "div-balance", "this fence closes no div; take it out or open one above"
            )
        else:
            if len(text.rstrip()) > LONGEST_CLOSING_FENCE:
                self._problem(
                    at + 1, "div-fence", "a closing fence has at most 80 colons; shorten it"
                )
            self._flush()
            self.stack.pop().end = at + 1
        self.list_indent = indent
        return at + 1

    def _add(self, block: Block) -> None:
        self._flush()
        (self.stack[-1].children if self.stack else self.page.blocks).append(block)

    def _flush(self) -> None:
        """Make a block of the prose gathered so far."""
        lines, self.prose = self.prose, []
        start = next((i for i, line in enumerate(lines) if line.strip()), None)
        if start is not None:
            text = "\n".join(lines[start:]).rstrip()
            self._add(Prose(self.prose_start + start + 1, text))

    def _problem(self, line: int, kind: str, message: str) -> None:
        self.page.problems.append(Problem(line, kind, message))
