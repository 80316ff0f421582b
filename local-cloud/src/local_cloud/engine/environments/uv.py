"""uv, which installs into a job's environment what its cache holds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_cloud.bounded.files import tail
from local_cloud.engine.isolation.apart import Apart, run
from local_cloud.engine.spec import EngineError

# By these it finds its cache, its configuration and the index whose pages are in the cache.
TOLD = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME")
SECONDS = 300.0  # for one call, the build of an archive included
MOST_SAID = 1 << 20  # bytes of its words that are read, from the end
LONGEST = 500  # characters; its end says why, and a reason for a failure has 1,024 at most
NETWORK = re.compile(r"network (connectivity )?(is|was) disabled", re.IGNORECASE)
BUILD = re.compile(r"failed to (download and )?build|build-system", re.IGNORECASE)


class UvFailed(EngineError):
    """uv failed; the message is its own words, in one line."""

    def __init__(self, said: str) -> None:
        """said: all that it wrote to its standard error."""
        words, _, _ = said.partition("\nhint:")
        before, _, after = words.partition("error: ")
        words = after or before  # without it where it said very much
        line = " ".join(words.replace("\n  cause:", ":").split()) or "it said nothing"
        super().__init__(line if len(line) <= LONGEST else f"… {line[-LONGEST:]}")
        self.lacks_network = bool(NETWORK.search(said))
        self.in_build = bool(BUILD.search(said))


def program() -> Path:
    """Return where uv is; EngineError if it is not installed."""
    beside = Path(sys.executable).parent / "uv"
    path = str(beside) if beside.exists() else shutil.which("uv")
    if not path:
        raise EngineError(
            f"a job's packages are installed with uv, and {sys.executable} has none:"
            " run `make setup` again"
        )
    return Path(path)


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what of a user's environment uv has to know."""
    return {
        name: text
        for name, text in environment.items()
        if name in TOLD or (name.startswith("UV_") and name not in ("UV_PYTHON", "UV_OFFLINE"))
    }


def pip(words: Sequence[str], environment: Mapping[str, str], apart: Apart | None) -> str:
    """Return what `uv pip` wrote to its standard error; UvFailed if it failed.

    apart: what uv sees, for it runs the code of what it builds; None: what this process sees.
    """
    return _run(["pip", *words], environment, apart)


def build(words: Sequence[str], environment: Mapping[str, str], apart: Apart | None) -> None:
    """`uv build` with these words; UvFailed if it failed. apart: as for pip()."""
    _run(["build", *words], environment, apart)


def _run(words: Sequence[str], environment: Mapping[str, str], apart: Apart | None) -> str:
    run_it = apart.run if apart else run
    with tempfile.TemporaryFile() as errors:  # a package that is built may say gigabytes
        try:
            code = run_it(
                [str(program()), *words, "--color=never"],
                seconds=SECONDS,
                env=dict(environment),
                stderr=errors,
            )
        except subprocess.TimeoutExpired:
            raise UvFailed(f"error: it took more than {SECONDS:g} s") from None
        said = tail(errors, MOST_SAID).decode(errors="replace")
    if code:
        raise UvFailed(said)
    return said
