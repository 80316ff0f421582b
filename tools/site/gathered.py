"""Pages and parts of pages that are collected from all episodes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from tools.links import plain
from tools.scanner import Div, Heading
from tools.site.body import Body
from tools.site.boxes import first_heading
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


def _title(episode: Entry) -> str:
    return f'<a href="{quote(episode.file)}">{escape(episode.title)}</a>'


def key_points(plan: Plan, instructor: bool) -> str:
    """Return the key points of every episode, under its name."""
    parts = []
    for episode in plan.episodes:
        assert episode.path
        body = Body(plan, episode.path, instructor, prefix=f"{episode.path.stem}-")
        points = "\n".join(body.html(div.children) for div, _ in _divs(plan, episode, "keypoints"))
        if points:
            parts.append(f'<h2 id="{escape(episode.path.stem)}">{_title(episode)}</h2>\n{points}')
    return "\n".join(parts)


def notes(plan: Plan) -> str:
    """Return the notes for instructors in the episodes, each with a link to its place."""
    parts = []
    for episode in plan.episodes:
        assert episode.path
        body = Body(plan, episode.path, True, prefix=f"{episode.path.stem}-")
        found = []
        for div, name in _divs(plan, episode, "instructor"):
            place = div.attributes.id or body.notes[div.line]
            where = f'<a href="{quote(episode.file)}#{escape(place)}">{escape(name)}</a>'
            inside = body.html(first_heading(div)[1])
            found.append(f"<dt>{where}</dt>\n<dd>{inside}</dd>")
        if found:
            rows = "\n".join(found)
            parts.append(f"<h3>{episode.number} {escape(episode.title)}</h3>\n<dl>\n{rows}\n</dl>")
    if not parts:
        return ""
    return '<h2 id="notes-in-the-episodes">Notes in the episodes</h2>\n' + "\n".join(parts)


def timetable(plan: Plan, instructor: bool) -> str:
    """Return the schedule for the home page.

    It says when each episode starts, what it asks and how long it takes.
    """
    slots = schedule([episode.minutes for episode in plan.episodes])
    if not slots:
        return ""
    rows = "\n".join(_row(plan, slot, instructor) for slot in slots)
    end = slots[-1].start + slots[-1].minutes
    return (
        '<h2 id="schedule">Schedule</h2>\n'
        '<div class="table"><table class="schedule">\n'
        "<caption>All episodes in a row, from the start, with exercises and breaks.</caption>\n"
        '<thead><tr><th scope="col">Start</th><th scope="col">Episode</th>'
        '<th scope="col" class="number">Minutes</th></tr></thead>\n'
        f"<tbody>\n{rows}\n"
        f'<tr class="end"><td>{clock(end)}</td><td>End</td><td></td></tr>\n</tbody>\n'
        "</table></div>"
    )


def _row(plan: Plan, slot: Slot, instructor: bool) -> str:
    start, minutes = clock(slot.start), f'<td class="number">{slot.minutes}</td>'
    if slot.episode is None:
        return f'<tr class="break"><td>{start}</td><td>Break</td>{minutes}</tr>'
    episode = plan.episodes[slot.episode]
    assert episode.path
    body = Body(plan, episode.path, instructor, prefix=f"{episode.path.stem}-")
    asked = "".join(body.html(div.children) for div, _ in _divs(plan, episode, "questions"))
    return (
        f'<tr><td>{start}</td><td><p class="episode">'
        f'<span class="episode-number">{episode.number}</span> {_title(episode)}</p>{asked}</td>'
        f"{minutes}</tr>"
    )
