"""A verdict or a hint as a notebook shows it: in colour, with a sign; elsewhere as plain text.

The colours are fixed, for they are read on the box and not on the page: 4.5:1 and more in light
and in dark themes.
"""

from __future__ import annotations

import html
import re

from lesson.show.progress import in_notebook

# How a verdict begins: its sign, its text's colour and its box's.
STYLES = {
    "Correct.": ("✔", "#0b4f1f", "#dff3e3"),
    "Not yet:": ("✘", "#7a1420", "#fbe3e4"),
    "Not answered yet:": ("○", "#4a3800", "#fbf0cf"),
    "Hint:": ("➜", "#12375c", "#e3eefa"),
}
BEGINNING = re.compile("|".join(map(re.escape, STYLES)))


def show(verdict: str) -> None:
    """Show it in the notebook, or print it."""
    if not in_notebook():
        print(verdict)
        return
    from IPython.display import display

    display(bundle(verdict), raw=True)  # type: ignore[no-untyped-call]


def bundle(verdict: str) -> dict[str, str]:
    """Return what a notebook gets: the box, and the text for all that shows no HTML."""
    return {"text/html": markup(verdict), "text/plain": verdict}


def markup(verdict: str) -> str:
    """Return the box. The sign is decoration: the words say the same."""
    begin = BEGINNING.match(verdict)
    sign, text, box = STYLES[begin.group() if begin else "Not yet:"]
    style = (
        f"color: {text}; background-color: {box}; border-left: 5px solid {text}; "
        "padding: 6px 10px; white-space: pre-wrap"
    )
    return (
        f'<div style="{style}"><span aria-hidden="true">{sign}</span> '
        f"{html.escape(verdict, quote=False)}</div>"
    )
