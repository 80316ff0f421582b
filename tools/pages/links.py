"""Links and images inside Markdown text, and the names that a link can point at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tools.pages.scanner import ATTRIBUTES, Attributes, Div, Heading, Page, Prose, read_attributes

# Whichever starts first holds: a backtick in a comment starts no code, `<!--` in code no comment.
_COMMENT_OR_CODE = re.compile(
    r"""(?P<comment><!--.*?-->)
      | (?<!`)(?P<ticks>`+)(?!`)(?:[^\n]|\n(?!\s*\n))*?(?<!`)(?P=ticks)(?!`)""",
    re.DOTALL | re.VERBOSE,
)
_DEFINITION = re.compile(
    r"""^\ {0,3}\[(?P<label>[^\]\[^][^\]\[]*)\]:[ \t]*(?P<target><[^>\n]*>|\S+)
        (?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^)\n]*\)))?[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
_TEXT = r"\[(?P<text>[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]"
_TARGET = r"""\(\s*(?P<target><[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)
              (?:\s+(?:"[^"]*"|'[^']*'))?\s*\)"""
_LABEL = r"\[(?P<label>[^\[\]]*)\]"
_ENDING = rf"(?:{_TARGET}|{_LABEL})?(?P<attributes>{ATTRIBUTES})?"
_IMAGE = re.compile(rf"!{_TEXT}{_ENDING}", re.VERBOSE)
_LINK = re.compile(rf"(?<![!\\]){_TEXT}{_ENDING}", re.VERBOSE)
_AUTOLINK = re.compile(r"<(?P<target>[a-zA-Z][a-zA-Z0-9+.-]+:[^\s<>]*)>")
_TAG = re.compile(r"""<(?P<tag>img|a)\b(?P<pairs>(?:"[^"]*"|'[^']*'|[^<>"'])*)>""", re.IGNORECASE)
_SPAN_ID = re.compile(r"""\]\{[^{}]*?\#([^\s{}]+)|<a\s[^<>]*?\b(?:id|name)=["']([^"']+)["']""")


@dataclass(frozen=True)
class Link:
    """A link or an image, `text[start:end]` of the text it stands in.

    `label` is the name of a reference (`[text][label]`), and `target` is then what the name is
    defined as, or None where it is not defined.
    """

    start: int
    end: int
    image: bool
    text: str
    target: str | None
    label: str | None = None
    attributes: Attributes = field(default_factory=Attributes)
    form: str = "markdown"  # or "auto" (<https://…>) or "html"


def blank_code(text: str) -> str:
    """Return the text with inline code and comments as blanks, so that places stay the same."""
    return _COMMENT_OR_CODE.sub(_blanks, text)


def _blanks(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def normal(label: str) -> str:
    """Return a reference's name as it is compared: case and runs of blanks do not count."""
    return " ".join(label.split()).casefold()


def definitions(page: Page) -> dict[str, str]:
    """Return the reference definitions (`[name]: target`) of a page."""
    by_label = {}
    for block, _ in page.walk():
        if isinstance(block, Prose):
            for line in _DEFINITION.finditer(block.text):
                by_label[normal(line["label"])] = line["target"].strip("<>")
    return by_label


def without_definitions(text: str) -> str:
    """Return the text with its reference definitions taken out."""
    return _DEFINITION.sub("", text)


def without_comments(text: str) -> str:
    """Return the text with its HTML comments taken out (those in inline code are no comments).

    With a comment go the blanks beside it that would indent what follows or end a line, and the
    line of which it is all: an empty line would end a paragraph.
    """
    kept, at = "", 0
    for match in _COMMENT_OR_CODE.finditer(text):
        if match["comment"]:
            kept += text[at : match.start()]
            at = match.end()
            begun = kept.rpartition("\n")[2].strip()
            after = text[at:].lstrip(" \t")
            if not begun:
                at = len(text) - len(after)
            if after[:1] in ("", "\n"):
                kept = kept.rstrip(" \t")
                at = len(text) - len(after) + (not begun and after != "")
    return kept + text[at:]


def links(text: str, known: Mapping[str, str]) -> list[Link]:
    """Return all links and images of a text, in order, those inside another included.

    `known` holds the reference definitions. Inline code, comments and definitions hold no links.
    """
    masked = blank_code(text)
    masked = _DEFINITION.sub(lambda match: " " * len(match[0]), masked)
    images = [_link(text, match, True, known=known) for match in _IMAGE.finditer(masked)]
    for image in images:
        if image:  # what is left are the links; an image can be the text of one
            masked = masked[: image.start] + " " * (image.end - image.start) + masked[image.end :]
    found_links = [_link(text, match, False, known=known) for match in _LINK.finditer(masked)]
    auto = [
        Link(*match.span(), False, match["target"], match["target"], form="auto")
        for match in _AUTOLINK.finditer(masked)
    ]
    tags = [_tag(match) for match in _TAG.finditer(masked)]
    every = [link for link in (*images, *found_links, *auto, *tags) if link]
    return sorted(every, key=lambda link: (link.start, -link.end))


def _link(text: str, match: re.Match[str], image: bool, *, known: Mapping[str, str]) -> Link | None:
    """Return the link of a match, or None for brackets that are none (`[1]`, `[ ]`, a footnote)."""
    name = text[slice(*match.span("text"))]
    attributes = read_attributes(text[slice(*match.span("attributes"))])
    if match["target"] is not None:
        target: str | None = text[slice(*match.span("target"))].strip("<>")
        return Link(*match.span(), image, name, target, None, attributes)
    label = text[slice(*match.span("label"))] if match["label"] else name
    target = known.get(normal(label))
    if name.startswith("^") or (target is None and match["label"] is None):
        return None
    return Link(*match.span(), image, name, target, label, attributes)


def _tag(match: re.Match[str]) -> Link | None:
    """Return the link of an HTML tag, or None for an anchor that is no link."""
    pairs = read_attributes(re.sub(r"\s*=\s*", "=", match["pairs"])).pairs
    image = match["tag"].lower() == "img"
    target = pairs.get("src" if image else "href")
    if target is None:
        return None
    return Link(*match.span(), image, "", target, None, Attributes(pairs=pairs), "html")


def outermost(links: list[Link]) -> list[Link]:
    """Return the links that are not inside another, in order."""
    kept: list[Link] = []
    for link in links:
        if not kept or link.start >= kept[-1].end:
            kept.append(link)
    return kept


def page_links(page: Page, known: Mapping[str, str]) -> Iterator[tuple[int, Link]]:
    """Yield the links of a page's prose and headings, each with its line."""
    for block, _ in page.walk():
        if isinstance(block, Prose | Heading):
            for link in links(block.text, known):
                yield block.line + block.text.count("\n", 0, link.start), link


def plain(text: str) -> str:
    """Return a heading's words without Markdown marks."""
    for link in reversed(outermost(links(text, {}))):
        text = text[: link.start] + plain(link.text) + text[link.end :]
    return re.sub(r"[`*]|(?<!\w)_|_(?!\w)", "", text)


def pandoc_slug(text: str) -> str:
    """Return the identifier that pandoc gives a heading."""
    slug = re.sub(r"\s+", "-", re.sub(r"[^\w\s.-]", "", plain(text)).strip()).lower()
    return re.sub(r"^[\W\d_]+", "", slug) or "section"


def pegboard_slug(text: str) -> str:
    """Return the identifier that the Workbench's own checks expect of a heading."""
    return re.sub(r"(?:[^\w\s]|_|\s)+", "-", plain(text).lower()).strip("-")


def heading_names(page: Page) -> Iterator[tuple[Heading, str, str]]:
    """Yield each heading with its name for pandoc, and its name for the Workbench's own checks.

    That is its id, or a slug; repeated slugs get -1, -2, ….
    """
    seen: Counter[tuple[str, str]] = Counter()
    for heading in (block for block, _ in page.walk() if isinstance(block, Heading)):
        names = []
        for tool, slug_of in (("pandoc", pandoc_slug), ("pegboard", pegboard_slug)):
            slug = heading.attributes.id or slug_of(heading.text)
            count = 0 if heading.attributes.id else seen[tool, slug]
            seen[tool, slug] += not heading.attributes.id
            names.append(f"{slug}-{count}" if count else slug)
        yield heading, names[0], names[1]


def anchors(page: Page) -> tuple[set[str], set[str]]:
    """Return what `#…` can point at in a page.

    These are the names that always hold, and the names that only one tool sees.

    A heading without an `{#id}` is named by pandoc and, in its checks, by the Workbench; where
    the two differ (numbers at the start, dots, apostrophes) neither name can be relied on.
    """
    sure: set[str] = set()
    unsure: set[str] = set()
    for _, name, other in heading_names(page):
        (sure if name == other else unsure).update((name, other))
    for block, _ in page.walk():
        if isinstance(block, Div) and block.attributes.id:
            sure.add(block.attributes.id)
        elif isinstance(block, Prose):
            sure.update(a or b for a, b in _SPAN_ID.findall(blank_code(block.text)))
    return sure, unsure - sure
