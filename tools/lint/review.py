"""Rules from reviewers' checklists: exercises and objectives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tools.lint.registry import Doc, episode_rule, page_rule
from tools.lint.structure import divs
from tools.pages.pace import (
    EXERCISES,
    minutes_in_title,
    minutes_of,
    split,
    sum_of_exercises,
    visible_blocks,
)
from tools.pages.scanner import Block, Div, Prose, walk

VAGUE_VERBS = re.compile(
    r"\s*(?:[-*+]|\d+[.)])\s+(understand|know|learn|appreciate|realise|realize"
    r"|be aware|be familiar|become familiar)\b",
    re.IGNORECASE,
)
MINUTES_BETWEEN_EXERCISES = 15
SHORTEST, LONGEST = 20, 60  # minutes of an episode, exercises included
Found = Iterator[tuple[int, str]]


def _exercises(doc: Doc, *kinds: str) -> list[Div]:
    """Return the exercises of these kinds in the core."""
    core = (block for block, _ in walk(split(doc.page.blocks)[0]))
    return [block for block in core if isinstance(block, Div) and set(block.classes) & set(kinds)]


@episode_rule("exercise-exists")
def exercise_exists(doc: Doc) -> Found:
    """Require that the core of an episode has an exercise."""
    if not _exercises(doc, "challenge"):
        yield 1, "the episode has no exercise; add a `challenge`"


@episode_rule("exercise-often")
def exercise_often(doc: Doc) -> Found:
    """Require in the core an exercise or a discussion for each begun 15 minutes of teaching."""
    teaching = (doc.page.front_matter or {}).get("teaching")
    exercises = len(_exercises(doc, *EXERCISES))
    wanted = -(-teaching // MINUTES_BETWEEN_EXERCISES) if type(teaching) is int else 0
    if 0 < exercises < wanted:
        call_for = f"{teaching} minutes of teaching call for {wanted} exercises"
        yield 1, f"{call_for}, not {exercises}; add some"


@episode_rule("exercise-gap")
def exercise_gap(doc: Doc) -> Found:
    """Require that between two exercises of the core lie at most 15 minutes of teaching."""
    for line, blocks in _gaps(split(doc.page.blocks)[0]):
        minutes = round(minutes_of(blocks))
        if minutes > MINUTES_BETWEEN_EXERCISES:
            limit = f"{MINUTES_BETWEEN_EXERCISES} are the limit"
            yield line, f"from here {minutes} minutes pass without an exercise; {limit}"


def _gaps(blocks: Sequence[Block]) -> Iterator[tuple[int, list[Block]]]:
    """Yield the stretches between exercises: the line where each begins, and its blocks."""
    start: int = 1
    stretch: list[Block] = []
    for block in visible_blocks(blocks):
        if isinstance(block, Div):
            yield start, stretch
            start, stretch = block.end, []
        else:
            stretch.append(block)
    yield start, stretch


@episode_rule("episode-length")
def episode_length(doc: Doc) -> Found:
    """Require that teaching and exercises together take 20 to 60 minutes."""
    front = doc.page.front_matter or {}
    parts = [front.get(name) for name in ("teaching", "exercises")]
    minutes = [part for part in parts if type(part) is int and part >= 0]
    if len(minutes) == len(parts) and not SHORTEST <= sum(minutes) <= LONGEST:
        yield 1, f"the episode takes {sum(minutes)} minutes, not {SHORTEST} to {LONGEST}"


@episode_rule("exercise-minutes")
def exercise_minutes(doc: Doc) -> Found:
    """Require that every challenge's title says how long it takes."""
    for challenge, _ in divs(doc, "challenge"):
        if minutes_in_title(challenge) is None:
            yield challenge.line, "the title says no time; write `### Exercise: … (5 minutes)`"


@episode_rule("exercise-sum")
def exercise_sum(doc: Doc) -> Found:
    """Require that the minutes of the core's challenges add up to the front matter's sum."""
    challenges = [challenge for challenge, _ in divs(doc, "challenge")]
    said = (doc.page.front_matter or {}).get("exercises")
    total = sum_of_exercises(split(doc.page.blocks)[0])
    if (
        challenges
        and all(map(minutes_in_title, challenges))
        and type(said) is int
        and said != total
    ):
        yield 1, f"the exercises take {total} minutes, not {said}; write `exercises: {total}`"


@page_rule("exercise-solution")
def exercise_solution(doc: Doc) -> Found:
    """Require a solution of every challenge, and guidance for instructors of every discussion."""
    for kind, wanted in (("challenge", "solution"), ("discussion", "instructor")):
        for exercise, _ in divs(doc, kind):
            inside = [block for block, _ in walk(exercise.children) if isinstance(block, Div)]
            if not any(wanted in div.classes for div in inside):
                yield exercise.line, f"the {kind} has no `{wanted}` div; add one"


@page_rule("objective-verb")
def objective_verb(doc: Doc) -> Found:
    """Require that objectives say what a learner can do.

    They start with a verb that can be tested.
    """
    for objectives, _ in divs(doc, "objectives"):
        for prose in (block for block in objectives.children if isinstance(block, Prose)):
            for number, line in enumerate(prose.text.split("\n")):
                vague = VAGUE_VERBS.match(line)
                if vague:
                    yield (
                        prose.line + number,
                        f"“{vague[1]}” cannot be tested; name what learners do",
                    )
