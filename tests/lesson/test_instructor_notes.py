"""The instructors' schedules and timings add up to what the episodes' front matter says."""

from __future__ import annotations

import re
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from AWS_helpers.costs import estimate_cost as on_amazon
from GCP_helpers.costs import estimate_cost as on_google
from tools.pages.pace import minutes_of, minutes_of_section, pace
from tools.pages.scanner import Heading, scan

ROOT = Path(__file__).parents[2]
NOTES = (ROOT / "instructors" / "instructor-notes.md").read_text(encoding="utf-8")
TASTER = (ROOT / "learners" / "taster.md").read_text(encoding="utf-8")
EPISODES = sorted((ROOT / "episodes").glob("*.md"))
DAYS = ("google-day", "amazon-day")
SLOT = re.compile(r"^\| (\d\d):(\d\d)–(\d\d):(\d\d) \| (\d\d) (.*?) \| (\d+) \|$", re.MULTILINE)


def front(number: str) -> tuple[str, int]:
    """An episode's title, and its minutes, teaching and exercises together."""
    (path,) = (ROOT / "episodes").glob(f"{number}-*.md")
    matter = scan(path.read_text(encoding="utf-8")).front_matter
    return matter["title"], matter["teaching"] + matter["exercises"]


def slots(day: str) -> list[tuple[int, int, str, str, int]]:
    """A day's rows: begin and end in minutes, episode, title, minutes."""
    section = NOTES.partition(f"{{#{day}}}")[2].partition("\n#")[0]
    return [
        (60 * int(a) + int(b), 60 * int(c) + int(d), number, title, int(minutes))
        for a, b, c, d, number, title, minutes in SLOT.findall(section)
    ]


@pytest.mark.parametrize("day", DAYS)
def test_a_day_has_the_minutes_of_its_episodes_and_a_break_within_90(day: str) -> None:
    rows = slots(day)
    assert len(rows) == 7
    for begin, end, number, title, minutes in rows:
        assert (title, minutes) == front(number)
        assert end - begin == minutes <= 90
    breaks = [after[0] - before[1] for before, after in pairwise(rows)]
    assert min(breaks) >= 10
    assert max(breaks) >= 45  # a meal


def test_the_half_day_has_the_minutes_of_its_episodes_and_a_break() -> None:
    rows = slots("serving-half-day")
    assert [number for _, _, number, _, _ in rows] == ["14", "15"]
    for begin, end, number, title, minutes in rows:
        assert (title, minutes) == front(number) and end - begin == minutes
    assert rows[1][0] - rows[0][1] >= 10


def test_the_episodes_to_choose_from_have_their_minutes() -> None:
    section = " ".join(NOTES.partition("{#changes}")[2].partition("##")[0].split())
    offered = dict(re.findall(r"\b(\d\d) \((\d+)", section))
    assert len(offered) == 5
    assert {number: front(number)[1] for number in offered} == {
        number: int(minutes) for number, minutes in offered.items()
    }
    assert f"that is {sum(map(int, offered.values()))} minutes" in section


def test_every_episode_has_its_timing_by_the_formula() -> None:
    rows = re.findall(r"^\| (\d\d) .*?" + r" \| (\d+)" * 6 + r" \|$", NOTES, re.MULTILINE)
    assert [row[0] for row in rows] == [path.name[:2] for path in EPISODES]
    for path, (number, *cells) in zip(EPISODES, rows, strict=True):
        page = scan(path.read_text(encoding="utf-8"))
        teaching, live, exercises, together, together_live, optional = map(int, cells)
        assert page.front_matter is not None
        stated = (page.front_matter["teaching"], page.front_matter["exercises"])
        assert (teaching, exercises) == stated, number
        assert together == teaching + exercises == front(number)[1]
        assert abs(live - pace(page).live) <= 1, number
        assert together_live == live + exercises, number
        assert abs(optional - pace(page).optional) <= 2, number


def test_the_taster_fits_into_an_hour_by_the_formula() -> None:
    said = [int(minutes) for minutes in re.findall(r"^\| (\d+) \|", TASTER, re.MULTILINE)]
    names = re.findall(r"\]\(\.\./(episodes/.*?\.md)\)", TASTER.partition("##")[0])
    beginning, whole = (scan((ROOT / name).read_text(encoding="utf-8")) for name in names)
    top = list(takewhile(lambda block: not isinstance(block, Heading), beginning.blocks))
    after = next(block for block in beginning.blocks if isinstance(block, Heading))
    assert f"“{after.text}”" in TASTER
    assert abs(said[0] - minutes_of(top)) <= 1
    left_out = minutes_of_section(whole, "own-network")
    assert abs(said[1] - (pace(whole).teaching + pace(whole).exercises - left_out)) <= 1
    assert sum(said) <= 60


def test_eight_hours_of_a_notebook_have_the_price_of_the_helpers() -> None:
    said = " ".join(NOTES.split())
    google, amazon = on_google("n1-standard-4", hours=8).usd, on_amazon("ml.m5.xlarge", hours=8).usd
    assert f"`n1-standard-4` | {google:.2f} |" in said
    assert f"`ml.m5.xlarge` | {amazon:.2f} |" in said
