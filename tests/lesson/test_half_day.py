"""Half a day on one cloud: its rows have the minutes of their sections, which run without others.

It keeps what the page on teaching never leaves out. `pytest -m slow tests/lesson/test_half_day.py`
runs its sections.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lesson.learner_cells import live_cells, run_cells
from tools.pages.folder import ROOT, read_page
from tools.pages.links import heading_names
from tools.pages.pace import minutes_of, section, sum_of_exercises
from tools.pages.scanner import Block, Div, Heading, Page

TOP = ""  # what is before the first heading of a page
LONGEST_SITTING = 75  # minutes without a break


@dataclass(frozen=True)
class Part:
    """What a row of a timetable keeps of an episode: sections, without some of their exercises."""

    episode: str
    sections: tuple[str, ...]
    left_out: tuple[str, ...] = ()


BEGINNING = (
    Part("01-introduction", (TOP, "why", "controller", "cost"), ("In which order?",)),
    Part("02-train-locally", (TOP, "look", "prepare", "test", "judge")),
    Part("02-train-locally", ("script",), ("Did it improve?",)),
)
PARTS = {
    "google-cloud": (
        *BEGINNING,
        Part("03-gcs-data", (TOP, "target", "upload")),
        Part(
            "04-vertex-first-job",
            (TOP, "test", "send", "failure", "judge", "clean-up"),
            ("Twenty tries", "Find the failed ones", "Compare two jobs"),
        ),
    ),
    "amazon": (
        *BEGINNING,
        Part("06-s3-data", (TOP, "target", "bucket", "upload")),
        Part(
            "07-sagemaker-first-job",
            (TOP, "test", "send", "log", "failure", "judge", "clean-up"),
            ("A hundred tries",),
        ),
    ),
}
EPISODES = sorted({part.episode for parts in PARTS.values() for part in parts})
ROW = re.compile(r"^\| (\d+) \| (.*) \|$", re.MULTILINE)
EPISODE = re.compile(r"\(\.\./episodes/(.*?)\.md\)")


def episode(name: str) -> Page:
    """Read an episode's page."""
    return read_page(Path(ROOT, "episodes", f"{name}.md"))


def half_day(cloud: str) -> str:
    """Read a cloud's page."""
    return (ROOT / "learners" / f"half-day-{cloud}.md").read_text(encoding="utf-8")


def title(block: Block) -> str:
    """Return the title of an exercise, without its minutes; "" of another block."""
    if not isinstance(block, Div) or "challenge" not in block.classes:
        return ""
    heading = next(each for each in block.children if isinstance(each, Heading))
    return heading.text.removeprefix("Exercise: ").partition(" (")[0]


def blocks_of(part: Part) -> list[Block]:
    """Return the blocks that a part keeps, in page order."""
    page = episode(part.episode)
    kept = [block for name in part.sections for block in section(page, name)]
    assert set(part.left_out) <= {title(block) for block in kept}
    return [block for block in kept if title(block) not in part.left_out]


@pytest.fixture(params=PARTS)
def cloud(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rows(cloud: str) -> list[tuple[int, str]]:
    return [(int(minutes), what) for minutes, what in ROW.findall(half_day(cloud))]


def test_it_has_two_and_a_half_hours_a_break_and_a_tenth_free(rows: list[tuple[int, str]]) -> None:
    total = sum(minutes for minutes, _ in rows)
    assert 140 <= total <= 160
    free = sum(minutes for minutes, what in rows if what.startswith("Free"))
    assert 10 * free >= total - free


def test_it_begins_with_a_check_and_nobody_sits_longer_than_75_minutes(
    rows: list[tuple[int, str]],
) -> None:
    assert "welcome.md#check" in rows[0][1]
    sittings = [0]
    for minutes, what in rows:
        if what == "A break":
            sittings.append(0)
        else:
            sittings[-1] += minutes
    assert len(sittings) > 1
    assert max(sittings) <= LONGEST_SITTING


def test_the_minutes_are_those_of_the_formula(cloud: str, rows: list[tuple[int, str]]) -> None:
    of_episodes = [(match[1], minutes) for minutes, what in rows if (match := EPISODE.search(what))]
    assert [name for name, _ in of_episodes] == [part.episode for part in PARTS[cloud]]
    for part, (_, minutes) in zip(PARTS[cloud], of_episodes, strict=True):
        known = {name for _, name, _ in heading_names(episode(part.episode))}
        assert set(part.sections) - {TOP} <= known
        kept = blocks_of(part)
        calculated = minutes_of(kept) + sum_of_exercises(kept)
        assert abs(calculated - minutes) <= 1, (part, calculated)


def test_each_heading_that_a_page_sends_you_to_is_in_a_notebook() -> None:
    known = {heading.text for name in EPISODES for heading, _, _ in heading_names(episode(name))}
    for cloud in PARTS:
        named = re.findall(r"(?:heading|In|to) “(.*?)”", " ".join(half_day(cloud).split()))
        assert len(named) > 5
        assert set(named) <= known


def test_a_page_names_each_exercise_that_it_leaves_out(cloud: str) -> None:
    said = " ".join(half_day(cloud).split())
    for part in PARTS[cloud]:
        assert all(f"“{name}”" in said for name in part.left_out)


def test_it_agrees_with_the_page_on_teaching(cloud: str) -> None:
    """It keeps all that must not be left out, and nothing that is to be left out first."""
    teaching = (ROOT / "instructors" / "teaching.md").read_text(encoding="utf-8")
    late = teaching.partition("{#late}")[2].partition("\n## ")[0]
    names = {part.episode for part in PARTS[cloud]}
    blocks: dict[str, list[Block]] = {name: [] for name in names}
    for part in PARTS[cloud]:
        blocks[part.episode] += blocks_of(part)
    checked = set()
    for name in names:
        row = next(
            line for line in late.splitlines() if re.match(rf"\| (\d\d, )?{name[:2]}\b", line)
        )
        _, _, first, never, _ = row.split("|")
        kept = {title(block) for block in blocks[name]}
        assert not kept & set(re.findall("“(.*?)”", first)), name
        lines = {block.line for block in blocks[name] if isinstance(block, Heading)}
        ids = {named: heading.line for heading, named, _ in heading_names(episode(name))}
        for anchor in re.findall(rf"episodes/{name}\.md#([\w-]+)", never):
            assert ids[anchor] in lines, (name, anchor)
            checked.add(name)
    assert checked == names
    assert f"learners/half-day-{cloud}.md" in late


@pytest.mark.slow
@pytest.mark.parametrize("name", EPISODES)
def test_its_sections_run_without_the_others(name: str) -> None:
    parts = dict.fromkeys(part for parts in PARTS.values() for part in parts)
    kept = [block for part in parts if part.episode == name for block in blocks_of(part)]
    run_cells(live_cells(kept))
