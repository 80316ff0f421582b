"""Rules on time: a page takes as long as it says, and its core is short enough."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.lint.registry import Doc, episode_rule
from tools.pages.pace import DENSEST_CORE, LONGEST_CORE, density, minutes_of, split, visible_blocks
from tools.pages.scanner import Block, Code, Div, walk

MARGIN = 1  # minutes by which the front matter may differ from the formula
Found = Iterator[tuple[int, str]]


@episode_rule("pace-teaching")
def pace_teaching(doc: Doc) -> Found:
    """`teaching` is what the core takes: 200 words or 10 lines of code a minute, 10 s a cell."""
    teaching = (doc.page.front_matter or {}).get("teaching")
    minutes = minutes_of(split(doc.page.blocks)[0])
    if type(teaching) is int and teaching >= 0 and abs(teaching - minutes) > MARGIN:
        said = f"by its words, code and cells the core takes {minutes:.1f} minutes, not {teaching}"
        yield 1, f"{said}; write `teaching: {round(minutes)}`"


@episode_rule("pace-core")
def pace_core(doc: Doc) -> Found:
    """Require that the core has at most 25 minutes of teaching."""
    minutes = round(minutes_of(split(doc.page.blocks)[0]))
    if minutes > LONGEST_CORE:
        fix = "shorten it, or mark sections as `### Optional: …`"
        yield 1, f"the core takes {minutes} minutes, more than {LONGEST_CORE}; {fix}"


@episode_rule("pace-density")
def pace_density(doc: Doc) -> Found:
    """Require that the core has at most 450 characters for each minute that the page plans."""
    facts = doc.page.front_matter or {}
    minutes = [facts.get(name) for name in ("teaching", "exercises")]
    if not all(type(each) is int and each >= 0 for each in minutes) or not any(minutes):
        return  # another rule's matter
    core, _ = density(doc.page)
    if core > DENSEST_CORE:
        fix = "shorten it, or mark sections as `### Optional: …`"
        yield 1, f"the core has {core} characters a minute, more than {DENSEST_CORE}; {fix}"


@episode_rule("pace-optional")
def pace_optional(doc: Doc) -> Found:
    """Require that the core uses no name that only an optional section's cells define."""
    core, optional = split(doc.page.blocks)
    first: dict[str, int] = {}
    for cell in _cells(optional):
        for name in _names(cell, ast.Store):
            first.setdefault(name, cell.line)
    made: set[str] = set()
    for cell in _cells(core):
        made |= _names(cell, ast.Store)
        used = _names(cell, ast.Load) - made
        if missing := sorted(name for name in used if first.get(name, cell.line) < cell.line):
            where = f"the optional section's cell in line {first[missing[0]]}"
            yield cell.line, f"only {where} defines `{missing[0]}`; define it in the core"


def _cells(blocks: Iterable[Block]) -> Iterator[Code]:
    """Yield the live cells, those of the exercises included."""
    for block in visible_blocks(blocks):
        inside = walk(block.children) if isinstance(block, Div) else [(block, ())]
        for each, around in inside:
            solved = any("solution" in outer.classes for outer in around)
            if isinstance(each, Code) and each.live and not solved:
                yield each


def _names(cell: Code, how: type[ast.expr_context]) -> set[str]:
    """Return the names that a cell binds (imports and definitions too) or reads."""
    lines = cell.text.split("\n")
    plain = ("" if line.lstrip().startswith(("%", "!")) else line for line in lines)
    try:
        nodes = list(ast.walk(ast.parse("\n".join(plain))))
    except SyntaxError:  # of a command that continues in the next line
        return set()
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, how)}
    if how is ast.Store:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.alias):
                names.add((node.asname or node.name).partition(".")[0])
            elif isinstance(node, ast.arg):
                names.add(node.arg)
    return names
