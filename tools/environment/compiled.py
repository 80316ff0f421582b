"""Which files of the packages are compiled when the lesson's environment is made.

Compiling all of them took half of the set-up. A kernel keeps what it compiles, so it does so once.
A job does not, because it cannot write into the environment: it would compile again each time. So
everything is compiled but what neither a job nor `make lesson` imports.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

# Other packages bring these, for what the lesson does not do; pages, types and tests need the rest.
# `tests/tools/test_compiled.py` holds that no job imports any of them.
NOT_COMPILED = (
    "_pytest",
    "agentplatform",
    "alembic",
    "databricks",
    "docutils",
    "google/genai",
    "hive_metastore",
    "hypothesis",
    "kubernetes",
    "mlflow",
    "mypy",
    "mypyc",
    "networkx",
    "pygments/lexers",
    "pyiceberg",
    "sphinx",
    "sqlalchemy",
    "vertexai",
)
LEFT_OUT = rf"/site-packages/(?:(?:{'|'.join(NOT_COMPILED)})/|(?:.*/)?tests?/)"


def is_left_out(file: str) -> bool:
    """Return whether a file is not compiled."""
    return bool(re.search(LEFT_OUT, file))


def compile_packages(environment: Path) -> None:
    """Compile the packages of an environment, with all cores.

    Some packages have templates named like Python files: what cannot be compiled is passed over.
    """
    packages = map(str, environment.glob("lib/python3*/site-packages"))
    compileall = [str(environment / "bin/python"), "-m", "compileall", "-qq", "-j", "0"]
    subprocess.run([*compileall, "-x", LEFT_OUT, *packages], check=False)
