"""Code and output as HTML, coloured by Pygments; the colours are in style.css."""

from __future__ import annotations

import re
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tools.scanner import Code

LABELS = {"bash": "Shell", "output": "Output", "python": "Python", "text": "Text", "yaml": "YAML"}
_ALIGNED = re.compile(r"\S {3,}\S")  # columns, which have to stay below each other
_FORMATTER = HtmlFormatter(nowrap=True)


def code_block(code: Code) -> str:
    """Return a block with its language above it; output says that it is output.

    What nobody has to type and has no columns is wrapped, as JupyterLab does; the rest scrolls.
    """
    language = code.language or "text"
    label = LABELS.get(language, language)
    kind = "output" if language == "output" else "code"
    if language in ("output", "text") and not _ALIGNED.search(code.text):
        kind += " wrapped"
    return (
        f'<div class="{kind}"><p class="language">{escape(label)}</p>'
        f"<pre><code>{colour(code.text, language)}</code></pre></div>"
    )


def colour(text: str, language: str) -> str:
    """Return the text with its tokens marked, or as it is where the language is not known."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return escape(text, quote=False) + "\n"
    return str(highlight(text, lexer, _FORMATTER))
