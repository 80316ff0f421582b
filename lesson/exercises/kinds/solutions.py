"""The solution of an exercise, as its page has it: the episodes are the only place where it is."""

from __future__ import annotations

import re
import sys

from lesson import ROOT, LessonError

EPISODES = "lesson.exercises."  # the modules with each episode's exercises
FENCE = re.compile(r"`{3,}|~{3,}")
BLOCK = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
COLONS = re.compile(r":{3,}\s*")
OPENS = re.compile(r":{3,} ?\{?\.?(\w+)")
LINK = re.compile(r"(?<![`!])\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")


def solution_of(exercise: object) -> str:
    """Return the page's solution of an exercise, as Markdown without links.

    Raises LessonError if the page is not there.
    """
    module, name = _name_of(exercise)
    pages = sorted((ROOT / "episodes").glob(f"[0-9]*-{module.replace('_', '-')}.md"))
    if not pages:
        raise LessonError(
            f"the page of {module} is not in {ROOT / 'episodes'}; the lesson's repository has it"
        )
    text = pages[0].read_text(encoding="utf-8")
    asked = re.search(rf"^exercises\.{name}\.check\(", text, re.MULTILINE)
    assert asked, f"{pages[0].name} has no cell for {name}"
    solution = _first_solution(text[asked.start() :].splitlines())
    parts = BLOCK.split(solution)  # every second one is code
    return "".join(LINK.sub(r"\1", part) if at % 2 == 0 else part for at, part in enumerate(parts))


def _name_of(exercise: object) -> tuple[str, str]:
    """Return the module of an exercise and its name there."""
    for module, content in list(sys.modules.items()):
        if module.startswith(EPISODES):
            for name, value in vars(content).items():
                if value is exercise:
                    return module.rpartition(".")[2], name
    raise LessonError("only an exercise of a page has a solution")


def _first_solution(lines: list[str]) -> str:
    """Return the content of the first solution; the lines begin in the cell of its exercise."""
    kept: list[str] = []
    depth = 0  # of divs, from the solution inwards
    in_code = True
    for line in lines:
        in_code ^= bool(FENCE.match(line))
        opened = None if in_code else OPENS.match(line)
        if depth and COLONS.fullmatch(line) and not in_code:
            depth -= 1
            if not depth:
                break
        elif opened:
            depth += bool(depth) or opened[1] == "solution"
        elif depth:
            kept.append(line)
    return "\n".join(kept).strip()
