"""The frames around the parts of a page: which element, which name, which icon."""

from __future__ import annotations

from html import escape

from tools.cells import TITLES
from tools.links import plain
from tools.scanner import Block, Div, Heading

FOLDED = frozenset({"hint", "solution", "spoiler"})
FRONT = frozenset({"questions", "objectives", "keypoints"})  # their names are headings

# Each is drawn on 24 by 24 units, by strokes.
ICONS = {
    "callout": "M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18M12 11v6M12 7v.5",
    "caution": "M12 3 2 20h20zM12 9v5M12 17v.5",
    "challenge": "M4 20l1-5L16 4l4 4L9 19zM13 7l4 4",
    "checklist": "M4 6l2 2 3-4M4 13l2 2 3-4M12 6h8M12 13h8M4 20h16",
    "discussion": "M3 4h13v9H9l-4 4v-4H3zM19 9h2v9h-2v3l-4-3h-4",
    "hint": "M9 18h6M10 21h4M9 15c0-2-3-3-3-7a6 6 0 0 1 12 0c0 4-3 5-3 7z",
    "instructor": "M3 4h18v11H3zM12 15v3M8 21l4-3 4 3M7 8h6M7 11h9",
    "keypoints": "M8 14a5 5 0 1 1 0-9 5 5 0 0 1 0 9M12 12l8 8M17 17l2-2",
    "objectives": "M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18M12 16a4 4 0 1 1 0-8 4 4 0 0 1 0 8M12 12v.1",
    "prereq": "M5 3h11l3 3v15H5zM9 10h6M9 14h6M9 18h3",
    "questions": "M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18M9 10a3 3 0 1 1 4 3q-1 .5-1 2M12 17v.5",
    "solution": "M12 21a9 9 0 1 1 0-18 9 9 0 0 1 0 18M8 12l3 3 5-6",
    "spoiler": "M2 12q10-14 20 0-10 14-20 0M12 15a3 3 0 1 1 0-6 3 3 0 0 1 0 6",
    "testimonial": "M4 12h5v6H4zv-2q0-4 4-5M14 12h5v6h-5zv-2q0-4 4-5",
}


def kind_of(div: Div) -> str:
    """Return what a div is: the first class that has a name."""
    return next((name for name in div.classes if name in TITLES), "callout")


def icon(kind: str) -> str:
    """Return a drawing beside a name that says the same, so that nobody needs to see it."""
    return (
        '<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">'
        f'<path d="{ICONS[kind]}"/></svg>'
    )


def box(
    div: Div, heading: Heading | None, heading_html: str, *, inside: str, name: str = ""
) -> str:
    """Return a div with its name and icon above what is `inside`.

    Hints and solutions are folded away.
    """
    kind = kind_of(div)
    title, label = _titles(kind, heading, heading_html)
    identity = f' id="{escape(anchor)}"' if (anchor := name or div.attributes.id) else ""
    head = f'{icon(kind)}<div class="titles">{title}</div>'
    body = f'<div class="inside">{inside}</div>'
    if kind in FOLDED:
        return f'<details class="box {kind}"{identity}><summary>{head}</summary>{body}</details>'
    tag = "aside" if kind in ("callout", "caution", "instructor", "testimonial") else "section"
    return (
        f'<{tag} class="box {kind}"{identity} aria-label="{escape(label)}">'
        f'<div class="head">{head}</div>{body}</{tag}>'
    )


def _titles(kind: str, heading: Heading | None, heading_html: str) -> tuple[str, str]:
    """Return (what stands above a box, its name for those who do not see it).

    A heading that begins with the kind's name, such as “Exercise: …”, needs no second one.
    """
    title = TITLES[kind]
    if heading is None:
        tag = "h2" if kind in FRONT else "p"
        return f'<{tag} class="kind">{title}</{tag}>', title
    words = plain(heading.text)
    if words.casefold().startswith(title.casefold()):
        return heading_html, words
    return f'<p class="kind">{title}</p>{heading_html}', f"{title}: {words}"


def first_heading(div: Div) -> tuple[Heading | None, list[Block]]:
    """Return a div's own heading, if it starts with one, and the rest of it."""
    if div.children and isinstance(div.children[0], Heading):
        return div.children[0], div.children[1:]
    return None, div.children
