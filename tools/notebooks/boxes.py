"""The boxes of a page in a notebook: a coloured edge and a tint of the same colour.

JupyterLab's sanitiser keeps inline styles, but no CSS variables and no style sheet of a page. So
the colours are fixed, and made for both themes: an edge of 3:1 and more on either ground, and a
tint so thin that the theme's own text keeps 4.5:1 and more on it.
"""

from __future__ import annotations

from itertools import takewhile
from operator import is_

from tools.pages.scanner import Div

# Red, green and blue, in the hues that the site gives its boxes
# (tools/site/theme/static/lesson.css).
EDGES = {
    "callout": (47, 127, 181),
    "caution": (201, 72, 63),
    "challenge": (176, 108, 26),
    "checklist": (14, 138, 156),
    "discussion": (138, 99, 201),
    "instructor": (180, 80, 127),
    "keypoints": (18, 138, 102),
    "objectives": (14, 138, 156),
    "prereq": (74, 123, 208),
    "questions": (74, 123, 208),
    "solution": (47, 143, 78),
    "testimonial": (111, 107, 208),
}
TINT = 0.1  # how much of the edge's colour is on the theme's ground

Piece = tuple[tuple[Div, ...], str]  # the boxes around some Markdown, and the Markdown


def join_pieces(pieces: list[Piece]) -> str:
    """Join pieces with a blank line between them, each in its boxes; neighbours share theirs."""
    parts: list[str] = []
    around: tuple[Div, ...] = ()
    for boxes, text in [*pieces, ((), "")]:
        shared = sum(takewhile(bool, map(is_, around, boxes)))
        parts += ["</div>"] * len(around[shared:])
        parts += [_opening(box) for box in boxes[shared:]]
        parts.append(text)
        around = boxes
    return "\n\n".join(parts[:-1])


def _opening(box: Div) -> str:
    """Return the start of a div.

    The sanitiser wants a colour's numbers with commas between them.
    """
    kind = next((name for name in box.classes if name in EDGES), "callout")
    colour = ", ".join(map(str, EDGES[kind]))
    return (
        f'<div style="border-left: 5px solid rgb({colour}); '
        f'background-color: rgba({colour}, {TINT}); padding: 10px 16px 2px; margin: 6px 0">'
    )
