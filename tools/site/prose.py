"""Markdown to HTML, for what the scanner leaves between headings and divs: prose and its code.

The scanner decides what is code. Each block of it goes through the Markdown as a fence that holds
its number alone, so that code inside a list item stays inside, and nothing in it is read again.
"""

from __future__ import annotations

import functools
import re
from html import escape

import mistune
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tools.pages.scanner import Code, Prose

_FENCE = "~~~~"
_ALIGNED = re.compile(r"\S {3,}\S")  # columns, which have to stay below each other
_BREAK, _LONG = re.compile(r"(?<=[._/:(])(?=\w)"), 24  # where a long name's line may end
_FORMATTER = HtmlFormatter(nowrap=True)
# Tokens without a colour: names, operators, punctuation and blanks, a third of a page's bytes.
_COLOURLESS = re.compile(r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>')


class _Renderer(mistune.HTMLRenderer):
    """HTML as mistune writes it, but for code, which is already there."""

    def __init__(self, codes: list[Code]) -> None:
        super().__init__(escape=False)
        self.codes = codes

    def codespan(self, text: str) -> str:
        code = escape(text)
        return f"<code>{_BREAK.sub('<wbr>', code) if len(code) > _LONG else code}</code>"

    def block_code(self, code: str, info: str | None = None) -> str:
        return code_block(self.codes[int(info or 0)]) + "\n"


def inline(text: str) -> str:
    """Return one line of Markdown, such as a caption: “4. Watch it” is no list there."""
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
    html = str(_markdown(codes)("\n\n".join(pieces))).strip()
    # A table scrolls in a frame of its own, so that the page does not.
    html = html.replace("<table>", '<div class="table-wrapper"><table class="docutils">')
    return html.replace("</table>", "</table></div>")


def code_block(code: Code) -> str:
    """Return a block, coloured by Pygments, in the frame that the theme's style sheets know.

    What nobody has to type and has no columns is wrapped, as JupyterLab does; the rest scrolls.
    """
    language = code.language or "text"
    kind = "output" if language == "output" else "code"
    if language in ("output", "text") and not _ALIGNED.search(code.text):
        kind += " wrapped"
    pre = f"<pre>{_colour(code.text, language)}</pre>"
    return f'<div class="{kind}"><div class="highlight">{pre}</div></div>'


@functools.cache  # the two views show the same code
def _colour(text: str, language: str) -> str:
    """Return the text with its tokens marked, or as it is where the language is not known."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return escape(text, quote=False) + "\n"
    return _COLOURLESS.sub(r"\1", str(highlight(text, lexer, _FORMATTER)))
