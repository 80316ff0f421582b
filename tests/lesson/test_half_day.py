"""Half a day on one cloud: its rows have the minutes of their sections, which run without others.

`pytest -m slow tests/lesson/test_half_day.py` runs them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lesson.learner_cells import live_cells, run_cells
from tools.pages.folder import ROOT, read_page
from tools.pages.links import heading_names
from tools.pages.pace import minutes_of_section, section

TOP = ""  # what is before the first heading of a page
SECTIONS = {
    "01-introduction": (TOP, "why", "controller"),
    "02-train-locally": (TOP, "look", "prepare", "test", "judge", "script"),
    "03-gcs-data": (TOP, "target", "upload"),
    "04-vertex-first-job": (TOP, "test", "send", "judge", "clean-up"),
    "06-s3-data": (TOP, "target", "bucket", "upload", "channels"),
    "07-sagemaker-first-job": (TOP, "test", "send", "judge", "clean-up"),
}
ROW = re.compile(r"^\| (\d+) \| (.*) \|$", re.MULTILINE)
EPISODE = re.compile(r"\(\.\./episodes/(.*?)\.md\)")


@pytest.fixture(params=["google-cloud", "amazon"])
def rows(request: pytest.FixtureRequest) -> list[tuple[int, str]]:
    page = (ROOT / "learners" / f"half-day-{request.param}.md").read_text(encoding="utf-8")
    return [(int(minutes), what) for minutes, what in ROW.findall(page)]


def test_it_has_two_and_a_half_hours_a_break_and_a_tenth_free(rows: list[tuple[int, str]]) -> None:
    total = sum(minutes for minutes, _ in rows)
    assert 140 <= total <= 160
    free = sum(minutes for minutes, what in rows if what.startswith("Free"))
    assert 10 * free >= total - free
    assert any(what == "A break" for _, what in rows)


def test_the_minutes_are_those_of_the_formula(rows: list[tuple[int, str]]) -> None:
    rows_of_episodes = [(EPISODE.search(what), minutes) for minutes, what in rows]
    episodes = [(match[1], minutes) for match, minutes in rows_of_episodes if match]
    assert len(episodes) == 4
    for name, minutes in episodes:
        page = read_page(Path(ROOT, "episodes", f"{name}.md"))
        known = {name for _, name, _ in heading_names(page)}
        assert set(SECTIONS[name]) - {TOP} <= known
        calculated = sum(minutes_of_section(page, section) for section in SECTIONS[name])
        assert abs(calculated - minutes) <= 1, (name, calculated)


def test_each_heading_that_a_page_sends_you_to_is_in_a_notebook() -> None:
    pages = [read_page(Path(ROOT, "episodes", f"{name}.md")) for name in SECTIONS]
    known = {heading.text for page in pages for heading, _, _ in heading_names(page)}
    for cloud in ("google-cloud", "amazon"):
        page = (ROOT / "learners" / f"half-day-{cloud}.md").read_text(encoding="utf-8")
        named = re.findall(r"(?:heading|In|to) “(.*?)”", " ".join(page.split()))
        assert len(named) > 5
        assert set(named) <= known


@pytest.mark.slow
@pytest.mark.parametrize("name", SECTIONS)
def test_its_sections_run_without_the_others(name: str) -> None:
    page = read_page(Path(ROOT, "episodes", f"{name}.md"))
    run_cells([cell for each in SECTIONS[name] for cell in live_cells(section(page, each))])
