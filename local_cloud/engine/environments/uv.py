"""uv, which installs into a job's environment what its cache holds."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_cloud.engine.spec import EngineError

# By these it finds its cache, its configuration and the index whose pages are in the cache.
TOLD = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME")
SECONDS = 300.0  # for one call, the build of an archive included


class UvFailed(EngineError):
    """uv could not do it; the message is the last cause that it named."""


def program() -> Path:
    """Where uv is; EngineError if it is not installed."""
    beside = Path(sys.executable).parent / "uv"
    found = str(beside) if beside.exists() else shutil.which("uv")
    if not found:
        raise EngineError(
            f"a job's packages are installed with uv, and {sys.executable} has none:"
            " run `make setup` again"
        )
    return Path(found)


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """What of a user's environment uv has to know."""
    return {
        name: text
        for name, text in environment.items()
        if name in TOLD or (name.startswith("UV_") and name not in ("UV_PYTHON", "UV_OFFLINE"))
    }


def pip(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """What `uv pip` said, as it was called with these words, offline; UvFailed if it failed."""
    command = [str(program()), "pip", *words, "--offline", "--color=never"]
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UvFailed(f"it took more than {SECONDS:g} s") from None
    if done.returncode:
        raise UvFailed(_cause(done.stderr))
    return done.stderr


def _cause(said: str) -> str:
    """The innermost of the causes that uv lists, in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    causes = [line for line in lines if line.lower().startswith(("error:", "cause:", "caused by"))]
    told = (causes or lines or ["it said nothing"])[-1]
    return told.partition(":")[2].strip() or told
