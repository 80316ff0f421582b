"""Rules from reviewers' checklists: exercises and objectives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tools.lint.registry import Doc, episode_rule, page_rule
from tools.lint.structure import divs
from tools.scanner import Block, Div, Heading, Prose, walk

VAGUE_VERBS = re.compile(
    r"\s*(?:[-*+]|\d+[.)])\s+(understand|know|learn|appreciate|realise|realize"
    r"|be aware|be familiar|become familiar)\b",
    re.IGNORECASE,
)
MINUTES = re.compile(r"\((\d+) min(?:utes?)?\)")
MINUTES_BETWEEN_EXERCISES = 15
SHORTEST, LONGEST = 20, 60  # minutes of an episode, exercises included
EXERCISES = {"challenge", "discussion"}
NOT_READ_ALOUD = {"questions", "objectives", "keypoints", "instructor", "hint", "spoiler"}
ALT_TEXT = re.compile(r"""\{[^{}]*\balt=(?:"[^"]*"|'[^']*')[^{}]*\}""")
Found = Iterator[tuple[int, str]]


@episode_rule("exercise-exists")
def exercise_exists(doc: Doc) -> Found:
    """An episode has an exercise."""
    if not divs(doc, "challenge"):
        yield 1, "the episode has no exercise; add a `challenge`"


@episode_rule("exercise-often")
def exercise_often(doc: Doc) -> Found:
    """There is an exercise or a discussion for each begun 15 minutes of teaching."""
    teaching = (doc.page.front_matter or {}).get("teaching")
    found = len(divs(doc, "challenge", "discussion"))
    wanted = -(-teaching // MINUTES_BETWEEN_EXERCISES) if type(teaching) is int else 0
    if 0 < found < wanted:
        yield (
            1,
            f"{teaching} minutes of teaching call for {wanted} exercises, not {found}; add some",
        )


@episode_rule("exercise-gap")
def exercise_gap(doc: Doc) -> Found:
    """Between two exercises lie at most 15 minutes of teaching, as words and code share them."""
    teaching = (doc.page.front_matter or {}).get("teaching")
    gaps = list(_gaps(doc.page.blocks))
    total = sum(words for _, words in gaps)
    for line, words in gaps:
        minutes = words / total * teaching if total and type(teaching) is int else 0
        if minutes > MINUTES_BETWEEN_EXERCISES:
            limit = f"{MINUTES_BETWEEN_EXERCISES} are the limit"
            yield line, f"from here {minutes:.0f} minutes pass without an exercise; {limit}"


def _gaps(blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """The stretches between exercises: the line where each begins, and its words and code."""
    start, words = 1, 0
    for block in _taught(blocks):
        if isinstance(block, Div):
            yield start, words
            start, words = block.end, 0
        else:
            words += len(ALT_TEXT.sub("", block.text).split())
    yield start, words


def _taught(blocks: Sequence[Block]) -> Iterator[Block]:
    """What is gone through with the learners, in page order; an exercise is one block."""
    for block in blocks:
        classes = set(block.classes) if isinstance(block, Div) else set()
        if not isinstance(block, Div) or classes & EXERCISES:
            yield block
        elif not classes & NOT_READ_ALOUD:
            yield from _taught(block.children)


@episode_rule("episode-length")
def episode_length(doc: Doc) -> Found:
    """Teaching and exercises together take 20 to 60 minutes."""
    front = doc.page.front_matter or {}
    parts = [front.get(name) for name in ("teaching", "exercises")]
    minutes = [part for part in parts if type(part) is int and part >= 0]
    if len(minutes) == len(parts) and not SHORTEST <= sum(minutes) <= LONGEST:
        yield 1, f"the episode takes {sum(minutes)} minutes, not {SHORTEST} to {LONGEST}"


def _minutes(challenge: Div) -> int | None:
    """The minutes in the challenge's title, `## Exercise: … (5 minutes)`."""
    title = next((block for block in challenge.children if isinstance(block, Heading)), None)
    found = MINUTES.search(title.text) if title else None
    return int(found[1]) if found else None


@episode_rule("exercise-minutes")
def exercise_minutes(doc: Doc) -> Found:
    """Every challenge's title says how long it takes."""
    for challenge, _ in divs(doc, "challenge"):
        if _minutes(challenge) is None:
            yield challenge.line, "the title says no time; write `### Exercise: … (5 minutes)`"


@episode_rule("exercise-sum")
def exercise_sum(doc: Doc) -> Found:
    """The challenges' minutes add up to the front matter's `exercises`."""
    minutes = [_minutes(challenge) for challenge, _ in divs(doc, "challenge")]
    stated = (doc.page.front_matter or {}).get("exercises")
    total = sum(value for value in minutes if value is not None)
    if minutes and None not in minutes and type(stated) is int and stated != total:
        yield 1, f"the exercises take {total} minutes, not {stated}; write `exercises: {total}`"


@page_rule("exercise-solution")
def exercise_solution(doc: Doc) -> Found:
    """Every challenge has a solution, and every discussion guidance for instructors."""
    for kind, wanted in (("challenge", "solution"), ("discussion", "instructor")):
        for exercise, _ in divs(doc, kind):
            inside = [block for block, _ in walk(exercise.children) if isinstance(block, Div)]
            if not any(wanted in div.classes for div in inside):
                yield exercise.line, f"the {kind} has no `{wanted}` div; add one"


@page_rule("objective-verb")
def objective_verb(doc: Doc) -> Found:
    """Objectives say what a learner can do: they start with a verb that can be tested."""
    for objectives, _ in divs(doc, "objectives"):
        for prose in (block for block in objectives.children if isinstance(block, Prose)):
            for number, line in enumerate(prose.text.split("\n")):
                vague = VAGUE_VERBS.match(line)
                if vague:
                    yield (
                        prose.line + number,
                        f"“{vague[1]}” cannot be tested; name what learners do",
                    )
