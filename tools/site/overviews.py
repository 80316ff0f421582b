"""Pages and parts of pages that are collected from all episodes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from docutils import nodes

from tools.pages.links import plain
from tools.pages.scanner import Div, Heading
from tools.site.page import PageNodes, first_heading, raw, section
from tools.site.plan import Entry, Plan
from tools.site.schedule import Slot, clock, schedule


def _divs(plan: Plan, episode: Entry, kind: str) -> Iterator[tuple[Div, str]]:
    """Yield the divs of a kind in an episode, each with a name.

    The name is its own, or that of what it is in.
    """
    assert episode.path
    above = ""
    for block, around in plan.page(episode.path).walk():
        if isinstance(block, Heading) and not around:
            above = plain(block.text)
        elif isinstance(block, Div) and kind in block.classes:
            headings = (first_heading(div)[0] for div in (block, *reversed(around)))
            named = next((heading for heading in headings if heading), None)
            yield block, plain(named.text) if named else above


def _link(episode: Entry, text: str, place: str = "") -> str:
    fragment = f"#{escape(place)}" if place else ""
    return f'<a href="{quote(episode.file)}{fragment}">{escape(text)}</a>'


def key_points(plan: Plan, instructor: bool) -> list[nodes.Element]:
    """Return the key points of every episode, under its name."""
    points = []
    for episode in plan.episodes:
        assert episode.path
        page = PageNodes(plan, episode.path, instructor)
        part = section(episode.path.stem, f"{episode.number} {episode.title}")
        for div, _ in _divs(plan, episode, "keypoints"):
            part += page.prose(div.children)
            part += raw(f"<p>{_link(episode, 'To the episode ' + episode.title)}</p>")
        points += [part] if len(part) > 1 else []
    return points


def notes(plan: Plan) -> list[nodes.Element]:
    """Return the notes for instructors in the episodes, each with a link to its place."""
    every = section("notes-in-the-episodes", "Notes in the episodes")
    for episode in plan.episodes:
        assert episode.path
        page = PageNodes(plan, episode.path, True)
        part = section(f"notes-{episode.path.stem}", f"{episode.number} {episode.title}")
        for div, name in _divs(plan, episode, "instructor"):
            place = div.attributes.id or page.notes[div.line]
            part += raw(f'<p class="place">{_link(episode, name, place)}</p>')
            page.fill(part, first_heading(div)[1], level=3)
        every += [part] if len(part) > 1 else []
    return [every] if len(every) > 1 else []


def timetable(plan: Plan, instructor: bool) -> list[nodes.Element]:
    """Return the schedule for the home page.

    It says when each episode starts, what it asks and how long it takes.
    """
    slots = schedule([episode.minutes for episode in plan.episodes])
    if not slots:
        return []
    rows = "\n".join(_row(plan, slot, instructor) for slot in slots)
    end = slots[-1].start + slots[-1].minutes
    part = section("schedule", "Schedule")
    part += raw(
        '<div class="table-wrapper"><table class="docutils schedule">\n'
        "<caption>All episodes in a row, from the start, with exercises and breaks.</caption>\n"
        '<thead><tr><th scope="col">Start</th><th scope="col">Episode</th>'
        '<th scope="col">Minutes</th></tr></thead>\n'
        f"<tbody>\n{rows}\n<tr><td>{clock(end)}</td><td>End</td><td></td></tr>\n</tbody>\n"
        "</table></div>"
    )
    return [part]


def _row(plan: Plan, slot: Slot, instructor: bool) -> str:
    start, minutes = clock(slot.start), f"<td>{slot.minutes}</td>"
    if slot.episode is None:
        return f"<tr><td>{start}</td><td>Break</td>{minutes}</tr>"
    episode = plan.episodes[slot.episode]
    assert episode.path
    page = PageNodes(plan, episode.path, instructor)
    asked = "".join(
        page.prose(div.children).astext() for div, _ in _divs(plan, episode, "questions")
    )
    name = _link(episode, f"{episode.number} {episode.title}")
    return f'<tr><td>{start}</td><td><p class="episode">{name}</p>{asked}</td>{minutes}</tr>'
