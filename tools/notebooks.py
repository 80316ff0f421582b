"""From episodes to notebooks: `python -m tools.notebooks` writes, `--check` only looks.

Every episodes/NN-slug.md gives notebooks/NN-slug.ipynb for learners and
notebooks/instructor/NN-slug.ipynb, which also has the solutions and the instructor's notes. Every
learners/NAME.md gives notebooks/pages/NAME.md, the same page for JupyterLab's Markdown.

Cell ids are the names of linked sections, else hashes of the cells' content, so an unchanged page
gives an unchanged file. Expected
output is stored as a cell's output, which nbval compares; a cell without one carries nbval's tag
`nbval-ignore-output` and is only run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import secrets
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import nbformat

from lesson.exercises.kinds import verdict
from tools.cells import NOTICE, Cell, Shown, cells, page_markdown
from tools.environment import KERNEL
from tools.folder import ROOT, PageError
from tools.notebook_links import Episodes, id_of, page_file, read_episodes


def notebook_text(lesson: Episodes, path: Path, instructor: bool) -> str:
    """Return the notebook file of an episode, as text. The same page gives the same text."""
    seen: Counter[tuple[bool, str]] = Counter()
    names: set[str] = set()
    made = []
    number = 0  # of the code cells, as Jupyter counts them in a run from top to bottom
    for cell in cells(lesson, path, instructor):
        content = (cell.code, cell.text)
        seen[content] += 1
        number += cell.code
        name = id_of(cell.name)
        identity = name if name and name not in names else _hash(cell, seen[content])
        names.add(name)
        made.append(_notebook_cell(cell, identity, number, folder=path.parent))
    source = path.relative_to(lesson.root).as_posix()
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": KERNEL,
            "language_info": {"name": "python"},
            "lesson": {"episode": source},  # the writer removes only notebooks with this mark
        },
        "cells": made,
    }
    node = nbformat.from_dict(notebook)
    nbformat.validate(node)
    return str(nbformat.writes(node)) + "\n"


def _hash(cell: Cell, occurrence: int) -> str:
    content = f"{cell.code}\n{cell.text}\n{occurrence}"
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _notebook_cell(cell: Cell, identity: str, number: int, *, folder: Path) -> dict[str, object]:
    """Return the cell of a page in the folder, as nbformat 4.5 has it.

    A cell with expected output counts as run, for nbval.
    """
    if not cell.code:
        return {"cell_type": "markdown", "id": identity, "metadata": {}, "source": cell.text}
    known = cell.output is not None
    metadata = {} if known else {"tags": ["nbval-ignore-output"]}
    return {
        "cell_type": "code",
        "id": identity,
        "metadata": metadata | ({"scrolled": True} if cell.scrolled else {}),
        "source": cell.text,
        "execution_count": number if known or cell.shown else None,
        "outputs": _render_shown(cell.shown, folder) if cell.shown else _outputs(cell.output or ""),
    }


def _render_shown(shown: Shown, folder: Path) -> list[dict[str, object]]:
    """Return what a run has shown; a picture's file is below the folder."""
    if not shown.picture:
        return _outputs(shown.text)
    try:
        picture = (folder / shown.picture).read_bytes()
    except OSError as problem:
        raise PageError(
            f"cannot read {folder / shown.picture} ({problem.strerror}); `python -m tools.shown`"
            " makes the pictures of runs"
        ) from problem
    data = {"image/png": b64encode(picture).decode(), "text/plain": shown.text}
    metadata = {"image/png": {"alt": shown.text}}
    return [{"output_type": "display_data", "data": data, "metadata": metadata}]


def _outputs(text: str) -> list[dict[str, object]]:
    """Return what a run leaves of this output.

    Verdicts of exercises are in their boxes, the rest is text.
    """
    outputs: list[dict[str, object]] = []
    lines = text.splitlines(keepends=True)
    for is_verdict, part in groupby(lines, lambda line: bool(verdict.BEGINNING.match(line))):
        if is_verdict:
            for line in part:
                data = verdict.bundle(line.rstrip("\n"))
                outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        else:
            printed = "".join(part).removesuffix("\n") + "\n"
            outputs.append({"output_type": "stream", "name": "stdout", "text": printed})
    return outputs


def build(root: Path) -> dict[Path, str]:
    """Return every notebook that the episodes call for, and the learners' pages, as text by path.

    Raises PageError.
    """
    lesson = read_episodes(root)
    folder = lesson.root / "notebooks"
    made = {
        place / f"{path.stem}.ipynb": notebook_text(lesson, path, instructor)
        for path in lesson.pages
        for place, instructor in ((folder, False), (folder / "instructor", True))
    }
    for path in lesson.beside:
        file = page_file(lesson.root, path)
        made[file] = page_markdown(lesson, path, file.parent)
    return made


def leftovers(root: Path, wanted: Mapping[Path, str]) -> list[Path]:
    """Return files that were written from a page that is gone; a reader's own are not touched."""
    folder = root.resolve() / "notebooks"
    found = [
        *folder.glob("*.ipynb"),
        *folder.glob("instructor/*.ipynb"),
        *folder.glob("pages/*.md"),
    ]
    return [path for path in sorted(found) if path not in wanted and _is_ours(path)]


def _is_ours(path: Path) -> bool:
    try:
        if path.suffix == ".md":
            return path.read_bytes().startswith(NOTICE.partition("{")[0].encode())
        page = json.loads(path.read_bytes())["metadata"]["lesson"]["episode"]
        return Path(page).stem == path.stem  # else somebody's copy, under another name
    except (OSError, ValueError, LookupError, TypeError):
        return False


def check(root: Path) -> list[str]:
    """Return one sentence for each file that is not what the pages give."""
    wanted = build(root)
    fix = "run `make notebooks` and commit the result"
    messages = []
    for path, text in wanted.items():
        name = path.relative_to(root.resolve())
        if not path.is_file():
            messages.append(f"{name} is missing; {fix}")
        elif path.read_bytes() != text.encode():
            messages.append(f"{name} differs from its page; {fix}")
    for path in leftovers(root, wanted):
        messages.append(f"{path.relative_to(root.resolve())} has no page any more; {fix}")
    return messages


def write(root: Path) -> str:
    """Write what differs, remove what is left over; say how much that was."""
    wanted = build(root)
    stale = [
        path for path in wanted if not path.is_file() or path.read_bytes() != wanted[path].encode()
    ]
    gone = leftovers(root, wanted)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(path, wanted[path])
    for path in gone:
        path.unlink()
    same = len(wanted) - len(stale)
    return f"{len(stale)} files written, {same} unchanged, {len(gone)} removed"


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)  # it is still there only after a failure


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code (1: something is stale, 2: a page is wrong)."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name what is stale")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="the lesson's folder")
    options = parser.parse_args(arguments)
    try:
        if not options.check:
            print(write(options.root))
            return 0
        messages = check(options.root)
    except PageError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        name = error.filename2 or error.filename
        print(f"cannot write {name} ({error.strerror}); check the folder", file=sys.stderr)
        return 2
    print("\n".join(messages) or "the notebooks are up to date")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
