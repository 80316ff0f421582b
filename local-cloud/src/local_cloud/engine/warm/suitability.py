"""Which replicas start warm: forked from a process that has imported torch (fork_server.py).

A warm start has to be what a cold one is, only sooner. So whatever could make a difference starts
cold: another environment, a variable that is read while Python, NumPy or torch begin, code that
sets one, or code that is too large to be looked at. Two differences are left to the forked process,
which alone knows them: modules of the job that are named like imported ones, and what else a job
installs before it runs its code (fork_process.py).
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from local_cloud.engine import system
from local_cloud.engine.environments import archives, shell_line
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.engine.isolation.mounts import rewrite
from local_cloud.engine.spec import Replica

VARIABLE = "LOCAL_CLOUD_WARM"  # "0": every replica starts cold
# How the names of variables begin that torch, NumPy and their libraries read as they are imported.
LIBRARIES = (
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "GOTO_",
    "BLIS_",
    "VECLIB_",
    "NPY_",
    "NUMPY_",
    "TORCH",
    "PYTORCH_",
    "ATEN_",
    "ONEDNN_",
    "DNNL_",
    "KINETO_",
    "TRITON_",
    "CUDA_",
)
# And those that the C library and Python read as a process begins.
PROCESS = ("LANG", "LC_", "LD_", "GLIBC_", "MALLOC_", "PYTHON")
# Of these a warm process has the same, or reads them later.
IN_TIME = ("PYTHONPATH", "PYTHONUNBUFFERED", "CUDA_VISIBLE_DEVICES")
MOST_FILES, MOST_BYTES = 500, 2_000_000  # of the code that is looked at
DEEPEST = 50  # folders below each other
LARGEST_ARCHIVE = 20_000_000  # bytes of what it holds

IMPORT = r"(?:from\s+torch\b|import\s+(?:.*,\s*)?torch\b)"
IMPORTS = re.compile(rf"^\s*{IMPORT}", re.MULTILINE)
# Not indented: what follows it in a file runs when torch has been imported.
IMPORTS_FIRST = re.compile(rf"^{IMPORT}", re.MULTILINE)
SETS_EARLY = re.compile(rf"\b(?:{'|'.join(LIBRARIES)})[A-Z0-9_]*|\bload_dotenv\b")


class TooLarge(Exception):
    """There is more code than is looked at."""


def suits(replica: Replica, folder: Path, python: JobEnvironment) -> bool:
    """Return whether a replica may start warm; folder: its working directory."""
    if not system.LINUX or os.environ.get(VARIABLE) == "0":
        return False
    if not python.base.is_servers or python.list_installed():  # torch may be another one there
        return False
    if any(is_read_early(name) for name in replica.environment):
        return False
    if replica.environment.get("PYTHONUNBUFFERED") == "":  # a warm process has no buffers
        return False
    try:
        with installed_code(replica) as installed:
            return code_suits(folders_with_code(replica, folder, python) | installed)
    except (OSError, UnicodeDecodeError, TooLarge, archives.ArchiveError):
        return False


def is_read_early(variable: str) -> bool:
    """Return whether a process that has imported torch would take up a variable too late."""
    return variable.startswith((*LIBRARIES, *PROCESS)) and variable not in IN_TIME


@contextmanager
def installed_code(replica: Replica) -> Iterator[set[Path]]:
    """Yield the folder with the code that a replica installs before it runs it, if it does so."""
    line = shell_line.parse(replica.command)
    if line is None:
        yield set()
        return
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "code")
        archives.extract(Path(rewrite(line.archive, replica.mounts)), code, LARGEST_ARCHIVE)
        yield {code}


def folders_with_code(replica: Replica, folder: Path, python: JobEnvironment) -> set[Path]:
    """Return where Python would find a replica's own code; none if its program is not Python."""
    path = replica.environment.get("PYTHONPATH", "").split(os.pathsep)
    folders = {Path(rewrite(each, replica.mounts)) for each in path if each}
    line = shell_line.parse(replica.command)
    program, *words = line.program if line else replica.command or [""]
    is_python = program in ("python", "python3", sys.executable, str(python.python))
    if words[:1] == ["-u"]:
        del words[0]
    if replica.launched and not (is_python and words[:1] != ["-I"]):
        folders.add(replica.launched)
    elif is_python and words[:1] == ["-m"] and len(words) > 1:
        folders.add(folder)
    elif is_python and words and words[0].endswith(".py"):
        folders.add((folder / rewrite(words[0], replica.mounts)).parent)
    else:
        return set()
    return {each for each in folders if each.is_dir()}


def code_suits(folders: Collection[Path]) -> bool:
    """Return whether the code below these folders imports torch, and sets nothing early."""
    imports_torch = False
    for text in sources(folders):
        first = IMPORTS_FIRST.search(text)
        if SETS_EARLY.search(text, 0, first.start() if first else len(text)):
            return False
        imports_torch = imports_torch or bool(IMPORTS.search(text))
    return imports_torch


def sources(folders: Collection[Path]) -> Iterator[str]:
    """Yield the text of every Python file below these folders; TooLarge if there is too much."""
    files = size = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            if len(Path(parent).relative_to(folder).parts) > DEEPEST:
                raise TooLarge  # os.walk calls itself for each folder below another
            files += len(names)
            for path in (Path(parent, name) for name in names if name.endswith(".py")):
                size += path.stat().st_size
                if files > MOST_FILES or size > MOST_BYTES:
                    raise TooLarge
                yield path.read_text(encoding="utf-8")
