"""A copy of the project, in which notebooks or mutants run."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path


def files(root: Path) -> list[str]:
    """Return the paths of the project's files: what git has, and what it would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (root / name).is_file()]


def copy(root: Path, to: Path) -> None:
    """Copy the project's files, and nothing that was made since."""
    for name in files(root):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, to / name, follow_symlinks=False)


def copy_compiled(root: Path, to: Path) -> None:
    """Copy what Python has compiled of the files that both have, so that it need not do so again.

    Python compiles anew what no longer fits its file.
    """
    for name in (name for name in files(root) if name.endswith(".py")):
        compiled = Path(importlib.util.cache_from_source(str(root / name)))
        if compiled.exists():
            there = Path(importlib.util.cache_from_source(str(to / name)))
            there.parent.mkdir(exist_ok=True)
            shutil.copy2(compiled, there)
