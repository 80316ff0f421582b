"""Rules on words: plain ones, for readers whose first language may be another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.links import blank_code, links, outermost, without_definitions
from tools.lint.registry import Doc, page_rule
from tools.scanner import Heading, Prose


def _any_of(*words: str) -> re.Pattern[str]:
    """Finds any of these; a blank in one stands for blanks or the end of a line."""
    every = "|".join(words).replace(" ", r"\s+")
    return re.compile(rf"\b(?:{every})\b", re.IGNORECASE)


BELITTLING = _any_of(
    *("just", "simply", "obvious(?:ly)?", "clearly", "easily", "trivial(?:ly)?", "basically"),
    *("merely", "of course", "needless to say", "as you know", "everyone knows"),
)
IDIOMS = _any_of(
    *("out of the box", "under the hood", "rules? of thumb", "in a nutshell", "pieces? of cake"),
    *("low[- ]hanging fruits?", "ball ?park", "silver bullets?", "back of the envelope"),
    *(
        "tip of the iceberg",
        "boils? down",
        "a grain of salt",
        "best of both worlds",
        "no[- ]brainer",
    ),
    *("cut corners", "bells and whistles", "deep dives?", "rabbit holes?", "heavy lifting"),
    *("up and running", "ins and outs", "hit the ground", "on the same page", "gotchas?"),
)
CONTRACTION = _any_of(
    r"\w+n['’]t",
    r"(?:i|you|we|they|he|she|it|that|there|here|what|who|how|where|when|why|let)['’]"
    r"(?:s|re|ve|ll|d|m)",
)
CONTRACTIONS_ALLOWED = 3  # in a page; readers whose English is new stumble over them
Found = Iterator[tuple[int, str]]


def _spoken(text: str) -> str:
    """What is read aloud of a text: not where links lead, but what pictures are said to show.

    Every word stays on its line.
    """
    for link in reversed(outermost(links(text, {}))):
        alt = link.attributes.pairs.get("alt", "")
        words = f"{_spoken(link.text)} {alt}" if link.form == "markdown" else alt
        lines = text.count("\n", link.start, link.end) - words.count("\n")
        text = text[: link.start] + words + "\n" * lines + text[link.end :]
    return text


def _find(doc: Doc, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Where a page's title, prose and headings, without code, match a pattern."""
    texts = [(1, str((doc.page.front_matter or {}).get("title")))]
    for block, _ in doc.page.walk():
        if isinstance(block, Prose | Heading):
            texts.append((block.line, _spoken(without_definitions(blank_code(block.text)))))
    for first, text in texts:
        for found in pattern.finditer(re.sub(r"(?<!\w)_|_(?!\w)", " ", text)):
            yield first + text.count("\n", 0, found.start()), " ".join(found[0].split())


@page_rule("word-belittling")
def word_belittling(doc: Doc) -> Found:
    """No “just”, “simply”, “obviously”: to a reader who is stuck they say: it is your fault."""
    for line, word in _find(doc, BELITTLING):
        yield line, f"“{word}” belittles the reader's effort; take it out"


@page_rule("word-idiom")
def word_idiom(doc: Doc) -> Found:
    """No idioms: who learned English from books looks them up in vain."""
    for line, idiom in _find(doc, IDIOMS):
        yield line, f"“{idiom}” does not mean what its words say; say what you mean"


@page_rule("word-contraction")
def word_contraction(doc: Doc) -> Found:
    """A page has few contractions."""
    found = list(_find(doc, CONTRACTION))
    if len(found) > CONTRACTIONS_ALLOWED:
        limit = f"a page has at most {CONTRACTIONS_ALLOWED}, this one {len(found)}"
        for line, word in found:
            yield line, f"“{word}” is a contraction ({limit}); write it out"
