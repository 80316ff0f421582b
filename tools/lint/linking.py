"""Rules on links and images."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from tools.lint.registry import Doc, episode_rule, page_rule
from tools.pages.folder import DOCUMENTATION, PAGE_FOLDERS, PageError, resolve_link
from tools.pages.links import Link, anchors, blank_code, normal, page_links
from tools.pages.scanner import Heading, Prose

SCHEMES = frozenset(
    [
        "https",
        "ftp",
        "ftps",
        "mailto",
        "news",
        "irc",
        "irc6",
        "ircs",
        "gopher",
        "nntp",
        "feed",
        "telnet",
        "mms",
        "rtsp",
        "sms",
        "svn",
        "tel",
        "fax",
        "xmpp",
        "webcal",
        "urn",
    ]
)
ASSET_FOLDERS = tuple(f"episodes/{name}" for name in ("fig", "files", "data"))
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_EMPTY_TEXT = re.compile(
    r"\W*(?:(?:this|that|a|the)?\s*(?:link|page|website|site)(?:\s+to)?|this|that|it"
    r"|(?:(?:click|over|look|see|(?:learn|read)\s+more)\s+)?(?:here|there)(?:\s+for)?"
    r"|read\s+(?:more|on|this)(?:\s+about)?"
    r"|(?:for\s+|learn\s+|see\s+)?more(?:\s+info(?:rmation)?|\s+details)?(?:\s+about)?)\W*",
    re.IGNORECASE,
)
_BARE_HTTP = re.compile(r"\bhttp://[^\s<>()\[\]\"']*[^\s<>()\[\]\"'.,;:!?]", re.IGNORECASE)
Found = Iterator[tuple[int, str]]


def _links(doc: Doc) -> Iterator[tuple[int, Link]]:
    yield from page_links(doc.page, doc.known_links)


def _local(doc: Doc) -> Iterator[tuple[int, Link, str, str]]:
    """Yield the links inside the lesson, each with its path ("" for this page) and fragment."""
    for line, link in _links(doc):
        target = link.target or ""
        if not _SCHEME.match(target) and not target.startswith("//"):
            path, _, fragment = target.partition("#")
            if not (
                link.form == "markdown" and normal(path) in doc.known_links and link.label is None
            ):
                yield line, link, path, fragment


@page_rule("link-scheme")
def link_scheme(doc: Doc) -> Found:
    """Require that a link's scheme is https, mailto or another of the Workbench's list."""
    for line, link in _links(doc):
        scheme = _SCHEME.match(link.target or "")
        if scheme and scheme[1].lower() not in SCHEMES | {"http"}:
            yield line, f"links with `{scheme[1]}:` are not allowed; link to an https page"


@page_rule("link-https")
def link_https(doc: Doc) -> Found:
    """Require that addresses use https, not http, also where they stand bare in the text."""
    targets = {(line, link.target or "") for line, link in _links(doc)}
    found = {(line, each) for line, each in targets if each.lower().startswith(("http:", "//"))}
    for block, _ in doc.page.walk():
        if isinstance(block, Prose | Heading):
            text = blank_code(block.text)
            for bare in _BARE_HTTP.finditer(text):
                found.add((block.line + text.count("\n", 0, bare.start()), bare[0]))
    for line, address in sorted(found):
        yield line, f"{address} is not encrypted; write https://"


@page_rule("link-target")
def link_target(doc: Doc) -> Found:
    """Require that a link has a target."""
    for line, link in _links(doc):
        if link.target in ("", "#"):
            yield line, f"the link “{link.text}” goes nowhere; give it a target"


@page_rule("link-file")
def link_file(doc: Doc) -> Found:
    """Require that a linked file exists in the page's folder, the root or a page folder."""
    for line, _, path, _ in _local(doc):
        if path and resolve_link(doc.lesson.root, doc.path, path) is None:
            yield line, f"there is no file `{path}` in the lesson; fix the link or add the file"


@page_rule("link-asset")
def link_asset(doc: Doc) -> Found:
    """Require that a linked file is a page, or in the folders that the site copies.

    Or it is in the local cloud's folder, to which the site links in the repository.
    """
    root = doc.lesson.root
    pages = {folder: root / folder for folder in PAGE_FOLDERS}.values()
    for line, _, path, _ in _local(doc):
        found = resolve_link(root, doc.path, path) if path else None
        if found is None:
            continue
        is_page = found.suffix == ".md" and found.parent in (root, *pages)
        copied = any(found.is_relative_to(root / each) for each in (*ASSET_FOLDERS, DOCUMENTATION))
        if not is_page and not copied:
            places = ", ".join(ASSET_FOLDERS)
            yield line, f"the site does not copy `{path}`; move the file to one of {places}"


@page_rule("link-fragment")
def link_fragment(doc: Doc) -> Found:
    """`#name` is a heading's name or an `{#id}`, in this page or in the page linked to.

    Headings with numbers, dots or apostrophes are named differently by different tools, so they
    need an `{#id}` to be linked to.
    """
    for line, _, path, fragment in _local(doc):
        target = resolve_link(doc.lesson.root, doc.path, path) if path else doc.path
        if not fragment or target is None or target.suffix != ".md":
            continue
        try:
            sure, unsure = anchors(doc.lesson.page(target))
        except PageError:
            continue  # reported where that page is checked
        name = unquote(fragment)
        where = f"`{path}`" if path else "this page"
        if name in unsure:
            yield (
                line,
                f"tools name the heading `#{name}` differently; give it an {{#id}} in {where}",
            )
        elif name not in sure:
            yield line, f"there is no `#{name}` in {where}; fix the link or add an {{#id}}"


@page_rule("link-label")
def link_label(doc: Doc) -> Found:
    """Require square brackets around a reference label: `[text][label]`, not `[text](label)`."""
    for line, link in _links(doc):
        if (
            link.form == "markdown"
            and link.label is None
            and normal(link.target or "") in doc.known_links
        ):
            yield line, f"`{link.target}` is a label; write [{link.text}][{link.target}]"


@page_rule("link-undefined")
def link_undefined(doc: Doc) -> Found:
    """Require that a reference label is defined in the page or in links.md."""
    for line, link in _links(doc):
        if link.target is None:
            yield line, f"the label `{link.label}` is not defined; add `[{link.label}]: https://…`"


@page_rule("link-text")
def link_text(doc: Doc) -> Found:
    """Require that a link's text says where it goes and is longer than one character."""
    for line, link in _links(doc):
        text = re.sub(r"!\[([^\]]*)\](?:\([^)]*\))?", r"\1 image", link.text).strip(" *_`")
        if link.form == "html" and not link.image:
            yield line, "the text of a link in HTML cannot be checked; write [text](target)"
        if link.image or link.form != "markdown":
            continue
        if len(text) < 2 or _EMPTY_TEXT.fullmatch(text):
            yield line, f"“{text}” does not say where the link goes; name the page it leads to"


@page_rule("image-alt")
def image_alt(doc: Doc) -> Found:
    """Require that every image has an `alt` attribute; an empty one marks decoration."""
    for line, link in _links(doc):
        if link.image and "alt" not in link.attributes.pairs:
            yield line, f'the image `{link.target}` has no description; add {{alt="…"}} after it'


@episode_rule("picture-exists")
def picture_exists(doc: Doc) -> Found:
    """Require that an episode shows a picture that says something: one with a description."""
    images = (link for _, link in _links(doc) if link.image)
    if not any(link.attributes.pairs.get("alt", "").strip() for link in images):
        yield 1, "the episode has no picture; draw one in episodes/fig, and describe it"
