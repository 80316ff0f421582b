"""The ways through the lesson, as the index names them.

A day is a column of the table under the heading with the id `days`. A group is a heading below the
one with the id `groups`, with a list of episodes; the core is the rest. An index without them gives
one group, in the order of config.yaml.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CORE = "Episodes"  # the first group's name, and that of all where the index has no groups
EPISODE = re.compile(r"\]\(episodes/([^)#]+)\.md\)")
DAYS = re.compile(r"^## .*\{#days\}$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
GROUPS = re.compile(r"^## .*\{#groups\}$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
GROUP = re.compile(r"^### (.*?)(?: \{#[\w-]+\})?$(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """An episode before or after another one; `day` is empty where all ways lead to it."""

    episode: str
    day: str = ""


class Paths:
    """The days and the groups of the episodes, each episode by its file's name without `.md`."""

    def __init__(self, index: str, episodes: list[str]) -> None:
        """`index` is the text of index.md, `episodes` are all of them in order."""
        self.days = read_days(index)
        self.groups = read_groups(index, episodes)

    def before(self, episode: str) -> list[Step]:
        """Return what is read before an episode."""
        return self._steps(episode, -1)

    def after(self, episode: str) -> list[Step]:
        """Return what is read after an episode: on each day, or in the groups."""
        return self._steps(episode, 1)

    def _steps(self, episode: str, way: int) -> list[Step]:
        steps = []
        for day, episodes in self.days.items():
            step = neighbour(episodes, episode, way)
            if step:
                steps.append(Step(step, day))
        if len({step.episode for step in steps}) == 1:
            return [Step(steps[0].episode)]
        if steps:
            return steps
        step = neighbour(self._beyond(), episode, way)
        return [Step(step)] if step else []

    def _beyond(self) -> list[str]:
        """Return the end of the days, and then all episodes that are on none of them."""
        on_a_day = [episode for episodes in self.days.values() for episode in episodes]
        every = [episode for group in self.groups.values() for episode in group]
        return [*on_a_day[-1:], *(episode for episode in every if episode not in on_a_day)]


def neighbour(episodes: list[str], episode: str, way: int) -> str:
    """Return the episode before (-1) or after (1) another one; "" if there is none."""
    if episode not in episodes:
        return ""
    at = episodes.index(episode) + way
    return episodes[at] if 0 <= at < len(episodes) else ""


def read_days(index: str) -> dict[str, list[str]]:
    """Return the episodes of each day."""
    section = DAYS.search(index)
    if section is None:
        return {}
    rows = [line.strip("| ").split(" | ") for line in section[1].splitlines() if "|" in line]
    names, _, *lines = rows
    return {
        name.strip(): [match[1] for line in lines if (match := EPISODE.search(line[at]))]
        for at, name in enumerate(names)
    }


def read_groups(index: str, episodes: list[str]) -> dict[str, list[str]]:
    """Return the episodes of each group: first the core, then what the index lists."""
    section = GROUPS.search(index)
    listed = {}
    if section:
        listed = {name: EPISODE.findall(text) for name, text in GROUP.findall(section[1])}
    elsewhere = {episode for group in listed.values() for episode in group}
    core = [episode for episode in episodes if episode not in elsewhere]
    return {"Core" if listed else CORE: core} | listed


def paths_of(root: Path) -> Paths:
    """Return the ways through the lesson in a folder."""
    episodes = sorted(path.stem for path in (root / "episodes").glob("*.md"))
    return Paths((root / "index.md").read_text(encoding="utf-8"), episodes)
