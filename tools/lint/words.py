"""Rules on words: plain ones, for readers whose first language may be another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.lint.registry import Doc, page_rule
from tools.pages.links import blank_code, links, outermost, without_definitions
from tools.pages.scanner import Heading, Prose


def _any_of(*words: str) -> re.Pattern[str]:
    """Return a pattern that finds any of these; a blank stands for blanks or the end of a line."""
    every = "|".join(words).replace(" ", r"\s+")
    return re.compile(rf"\b(?:{every})\b", re.IGNORECASE)


BELITTLING = _any_of(
    "just",
    "simply",
    "obvious(?:ly)?",
    "clearly",
    "easily",
    "trivial(?:ly)?",
    "basically",
    "merely",
    "of course",
    "needless to say",
    "as you know",
    "everyone knows",
)
IDIOMS = _any_of(
    "out of the box",
    "under the hood",
    "rules? of thumb",
    "in a nutshell",
    "pieces? of cake",
    "low[- ]hanging fruits?",
    "ball ?park",
    "silver bullets?",
    "back of the envelope",
    "tip of the iceberg",
    "boils? down",
    "a grain of salt",
    "best of both worlds",
    "no[- ]brainer",
    "cut corners",
    "bells and whistles",
    "deep dives?",
    "rabbit holes?",
    "heavy lifting",
    "up and running",
    "ins and outs",
    "hit the ground",
    "on the same page",
    "gotchas?",
)
CONTRACTION = _any_of(
    r"\w+n['’]t",
    r"(?:i|you|we|they|he|she|it|that|there|here|what|who|how|where|when|why|let)['’]"
    r"(?:s|re|ve|ll|d|m)",
)
# Behind “of its own” in “a folder of its own”, not in “the name of its own folder”.
WITHOUT = (
    r"(?=[^\w\s]|\s*\Z|\s+(?:and|or|but|nor|in|on|at|for|with|without|to|by|of|from|as|under"
    r"|beside|that|which|who|when|while|until|if|so|then|each|is|are|has|have|can|may|there|here)\b)"
)
# What reads as a translation, or is not the word of the services' documentation: what to write.
BETTER = {
    _any_of(words): better
    for words, better in {
        r"mend(?:s|ed|ing)?": "fix",
        r"reckon(?:s|ed|ing)?": "estimate, or calculate",
        r"dearer|dearest": "more expensive",
        r"shall": "must, will, or the verb alone; of an aim: is to, or should",
        r"com(?:es?|ing) to lie|came to lie": "is stored",
        r"in the name of": "assumes the role, or: with the permissions of",
        r"rights|the right to": "permissions, or may",
        r"(?<!IP\s)(?<!e-mail\s)address(?:es)?": "URI (gs:, s3:), URL or endpoint (http:)",
        r"(?<!there\s)(?:is|are|was|were) no (?!longer|more|less|better|worse|other)\w+": "is not",
        r"as (?:it is|they are)(?=[.,;:)])": "unchanged",
        r"by now": "already, or so far",
        rf"of (?:one['’]s|my|your|its|his|her|our|their) own{WITHOUT}": "its own …, a separate …",
        r"(?:that|this) is what [^.;:?!]{1,80} (?:is|are) for": "the purpose first: X does Y",
        r"(?:goes|going|gone|went) on|go on": "resume, or continue",
        r"(?:end|ends|ended|ending) well": "succeed",
        r"slopes?": "gradient",
        r"behind a secret": "and accepts only requests with the secret",
    }.items()
}
# The start of a sentence, and the rest of it up to its end: no question mark, so no question.
SENTENCE = re.compile(
    r"(?:\A|[.!?]['’\")”*]*\s+|\n\s*\n\s*|^\s*(?:[-*+]|\d+[.)]|:|\|)\s+|\|\s*)[*_]*"
    r"(?P<sentence>(?P<word>Who|What|Whoever|Whatever)\b"
    r"(?:(?!\n\s*\n|\n\s*(?:[-*+]|\d+[.)])\s|\|)[^.!?]|[.!?](?=[\w`]))*(?P<end>[.!?]))",
    re.MULTILINE,
)
CONTRACTIONS_ALLOWED = 3  # in a page; readers whose English is new stumble over them
Found = Iterator[tuple[int, str]]


def _read_aloud(text: str) -> str:
    """Return what is read aloud of a text.

    That is not where links lead, but what pictures are said to show.

    Every word stays on its line.
    """
    for link in reversed(outermost(links(text, {}))):
        alt = link.attributes.pairs.get("alt", "")
        words = f"{_read_aloud(link.text)} {alt}" if link.form == "markdown" else alt
        lines = text.count("\n", link.start, link.end) - words.count("\n")
        text = text[: link.start] + words + "\n" * lines + text[link.end :]
    return text


def _texts(doc: Doc) -> Iterator[tuple[int, str]]:
    """Yield a page's title, prose and headings, without code, with their first lines."""
    yield 1, str((doc.page.front_matter or {}).get("title"))
    for block, _ in doc.page.walk():
        if isinstance(block, Prose | Heading):
            text = _read_aloud(without_definitions(blank_code(block.text)))
            yield block.line, re.sub(r"(?<!\w)_|_(?!\w)", " ", text)


def _find(doc: Doc, pattern: re.Pattern[str]) -> Found:
    """Yield where a page's words match a pattern."""
    for first, text in _texts(doc):
        for match in pattern.finditer(text):
            yield first + text.count("\n", 0, match.start()), " ".join(match[0].split())


def _own_words(doc: Doc) -> Found:
    """Yield the page's own words: not those that it quotes (`> …`), as a licence."""
    for first, text in _texts(doc):
        yield first, re.sub(r"^[ ]*>.*$", "", text, flags=re.MULTILINE)


@page_rule("word-belittling")
def word_belittling(doc: Doc) -> Found:
    """Refuse “just”, “simply”, “obviously”: to a reader who is stuck they say: it is your fault."""
    for line, word in _find(doc, BELITTLING):
        yield line, f"“{word}” belittles the reader's effort; take it out"


@page_rule("word-idiom")
def word_idiom(doc: Doc) -> Found:
    """Refuse idioms: who learned English from books looks them up in vain."""
    for line, idiom in _find(doc, IDIOMS):
        yield line, f"“{idiom}” does not mean what its words say; say what you mean"


@page_rule("word-plain")
def word_plain(doc: Doc) -> Found:
    """Require words that people say, and that the services' documentation uses."""
    for first, text in _own_words(doc):
        for pattern, better in BETTER.items():
            for match in pattern.finditer(text):
                line = first + text.count("\n", 0, match.start())
                yield line, f"“{' '.join(match[0].split())}”; write: {better}"


@page_rule("word-subject")
def word_subject(doc: Doc) -> Found:
    """Require that no statement begins with “Who …” or “What …”.

    The subject comes first, and is a noun.
    """
    for first, text in _own_words(doc):
        for match in SENTENCE.finditer(text):
            if match["end"] != "?":
                line = first + text.count("\n", 0, match.start("word"))
                yield line, f"a statement begins with “{match['word']}”; begin with its subject"


@page_rule("word-contraction")
def word_contraction(doc: Doc) -> Found:
    """Require that a page has few contractions."""
    contractions = list(_find(doc, CONTRACTION))
    if len(contractions) > CONTRACTIONS_ALLOWED:
        limit = f"a page has at most {CONTRACTIONS_ALLOWED}, this one {len(contractions)}"
        for line, word in contractions:
            yield line, f"“{word}” is a contraction ({limit}); write it out"
