"""Fetch packages into uv's cache, from which jobs install them: `python -m … PYTHON WORD …`.

The words are those of `pip install`. It needs a network, and fetches only what jobs lack.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from local_cloud.engine.base import Base, server_base
from local_cloud.engine.environments import installer, pip_command
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.engine.spec import EngineError


def fetch(python: Path, words: Sequence[str]) -> None:
    """Install for jobs of an interpreter, into an environment that is then removed."""
    with tempfile.TemporaryDirectory() as folder:
        base = base_of(python, Path(folder))
        environment = JobEnvironment(Path(folder) / "environment", base)
        environment.make()
        installer.install(environment, pip_command.parse_install(words, base.version), os.environ)


def base_of(python: Path, folder: Path) -> Base:
    """Return the server's base, or that of an image, by its interpreter."""
    own = server_base(folder)
    if python == own.python:
        return own
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    version = site.parent.name.removeprefix("python")
    return replace(own, name="image", python=python, version=version, sites=(str(site),))


if __name__ == "__main__":
    try:
        fetch(Path(sys.argv[1]), sys.argv[2:])
    except EngineError as problem:
        sys.exit(str(problem))
    print(f"Jobs can install now: {shlex.join(sys.argv[2:])}")
