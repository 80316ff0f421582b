"""Markdown to HTML, for what the scanner leaves between headings and divs: prose and its code.

The scanner decides what is code. Each block of it goes through the Markdown as a fence that holds
its number alone, so that code inside a list item stays inside, and nothing in it is read again.
"""

from __future__ import annotations

import re
from html import escape

import mistune

from tools.scanner import Code, Prose
from tools.site.code import code_block

_FENCE = "~~~~"
# Where a line may end inside a name: after a sign, and between the words of ListTrainingJobs.
_LONG, _LONGER = 16, 30  # letters from which it may in a table, and anywhere
_BREAK = re.compile(r"(?<=[._/=(,:@])(?=\w)|(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"(\S+)")
_FLAG = re.compile(r"--?[a-zA-Z]\w*")


class _Renderer(mistune.HTMLRenderer):
    """HTML as mistune writes it, but for code, which is already there."""

    def __init__(self, codes: list[Code]) -> None:
        super().__init__(escape=False)
        self.codes = codes

    def codespan(self, text: str) -> str:
        return f"<code>{breakable(text)}</code>"

    def block_code(self, code: str, info: str | None = None) -> str:
        return code_block(self.codes[int(info or 0)]) + "\n"


def breakable(code: str) -> str:
    """Return code as HTML whose lines end where a reader expects it.

    That is not after the dashes of a flag.
    """
    return "".join(_word(word) for word in _WORD.split(code))


def _word(word: str) -> str:
    if flag := _FLAG.match(word):
        return f'<span class="flag">{flag[0]}</span>{_word(word[flag.end() :])}'
    pieces = _BREAK.split(word) if len(word) > _LONG else [word]
    html = "<wbr>".join(escape(piece) for piece in pieces)
    return f'<span class="long">{html}</span>' if len(word) > _LONGER else html


def inline(text: str) -> str:
    """Return one line of Markdown, such as a heading: “4. Watch it” is no list there."""
    markdown = _markdown([])
    tokens = markdown.inline(text, {"ref_links": {}})
    return _Renderer([]).render_tokens(tokens, markdown.block.state_cls())


def _markdown(codes: list[Code]) -> mistune.Markdown:
    return mistune.create_markdown(renderer=_Renderer(codes), plugins=["table", "def_list"])


def html_of(run: list[Prose | Code]) -> str:
    """Return the HTML of neighbouring blocks."""
    codes = [block for block in run if isinstance(block, Code)]
    numbers = {id(code): number for number, code in enumerate(codes)}
    pieces = []
    for block in run:
        if isinstance(block, Prose):
            pieces.append(block.text)
        else:
            blanks = " " * block.indent
            pieces.append(f"{blanks}{_FENCE}{numbers[id(block)]}\n{blanks}{_FENCE}")
    return _scrollable(str(_markdown(codes)("\n\n".join(pieces))).strip())


def _scrollable(html: str) -> str:
    """Put tables into a frame that scrolls by itself, so that the page does not."""
    return html.replace("<table>", '<div class="table"><table>').replace(
        "</table>", "</table></div>"
    )
