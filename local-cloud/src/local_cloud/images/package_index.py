"""Where uv looks for packages: where pip is configured to, and which build of PyTorch it takes.

Standard library only, in the syntax of Python 3.8: what makes the environment of a clone loads this
file by its path, before anything is installed.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

# What uv calls an option of pip's configuration. pip separates several values by blanks.
AS_UV_CALLS_IT = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",  # which uv does not read: see options()
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}

# uv compiles what it installs, as pip does: else the first import of each package takes seconds
# longer. By itself it gives up after a minute.
COMPILE = {"UV_COMPILE_BYTECODE": "1", "UV_COMPILE_BYTECODE_TIMEOUT": "600"}


def settings() -> dict[str, str]:
    """Return this process's variables, and those that have uv do what pip would do here."""
    said = output(sys.executable, "-m", "pip", "config", "list")
    return {**COMPILE, **pip_configuration(said), **os.environ}


def pip_configuration(listed: str) -> dict[str, str]:
    """Return the variables that tell uv what `pip config list` printed."""
    options: dict[str, str] = {}
    for section in ("global", "install", ":env:"):  # the later one wins, as in pip
        for name, text in re.findall(rf"^{section}\.([\w-]+)=(.+)$", listed, re.MULTILINE):
            options[name] = str(ast.literal_eval(text))
    told = {AS_UV_CALLS_IT[name]: options[name] for name in options if name in AS_UV_CALLS_IT}
    if "UV_FIND_LINKS" in told:
        told["UV_FIND_LINKS"] = ",".join(told["UV_FIND_LINKS"].split())
    if "UV_INDEX" in told:
        told["UV_INDEX"] = " ".join(told["UV_INDEX"].split())
        told["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # as pip: the best of all indices
    return told


def options(environment: Mapping[str, str]) -> list[str]:
    """Return the option by which uv asks no index, if pip is configured so: it has no variable."""
    told = environment.get("UV_NO_INDEX", "").lower()
    return ["--no-index"] if told in ("1", "yes", "true", "on") else []


def torch_build(
    install: Sequence[str], pinned: str | None, environment: Mapping[str, str]
) -> list[str]:
    """Return the options by which uv takes the build of PyTorch that suits this machine.

    The ordinary build for Linux brings gigabytes of libraries for NVIDIA's cards. uv knows the
    index of the other builds. It is left alone where the reader's configuration offers a build
    already (a version such as 2.13.0+cpu), and where that index cannot be reached.

    install: the words of `uv pip install`, up to what is installed; pinned: the requirement of
    torch, if there is one.
    """
    if sys.platform != "linux" or pinned is None:
        return []
    look = [*install, "--dry-run", "--no-deps", pinned]
    if re.search(r"torch==\S+\+", output(*look, environment=environment)):
        return []
    backend = ["--torch-backend", "auto" if has_nvidia_card() else "cpu"]
    if succeeds(*look, *backend, environment={**environment, "UV_HTTP_RETRIES": "1"}):
        return backend
    print("PyTorch's own index cannot be reached: its ordinary, large build is installed.")
    return []


def has_nvidia_card() -> bool:
    """Return whether NVIDIA's driver is here."""
    return bool(shutil.which("nvidia-smi")) or Path("/proc/driver/nvidia").exists()


def succeeds(*command: object, environment: Mapping[str, str] | None = None) -> bool:
    """Return whether a quiet command ends with 0."""
    return _run(command, environment).returncode == 0


def output(*command: object, environment: Mapping[str, str] | None = None) -> str:
    """Return what a command printed, on either stream."""
    done = _run(command, environment)
    return done.stdout + done.stderr


def _run(
    command: Iterable[object], environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
