"""Resolve what the local cloud and the lesson need: write requirements.txt and hashes.txt.

`make lock` runs this. It keeps the versions that are locked where it can; `make lock
ARGS=--upgrade` takes the newest. One lock serves Linux and macOS and each Python from the oldest
on: uv resolves for all of them and marks what only some need. No file names an index, so that each
reader's own is used.

`uv lock` and `uv sync` would not do: uv.lock holds the URL of every file, uv downloads from there
whatever index is configured, and it cannot choose between torch's builds.

torch is pinned without a build and without hashes, because its builds differ from machine to
machine; what its builds for NVIDIA's cards need besides, they bring themselves.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.environment.make import HASHES, LOCK, ROOT, find_uv
from tools.lock import GROUPS

HEADER = "# Written by `make lock` from pyproject.toml. Do not edit by hand.\n"
OF_NVIDIA = re.compile(r"(nvidia|cuda|triton)\b")


def resolve(uv: Path, upgrade: bool) -> list[str]:
    """Return the entries that uv resolves to, sorted, each with its hashes on lines of its own."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "lock.txt")
        shutil.copy(LOCK, lock)  # uv prefers the versions that it finds
        command = [str(uv), "pip", "compile", "--quiet", "local-cloud/pyproject.toml"]
        command += [word for name in GROUPS for word in ("--group", f"pyproject.toml:{name}")]
        command += ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest"]
        command += [
            "--all-extras",
            "--generate-hashes",
            "--no-annotate",
            "--no-header",
            "--output-file",
            str(lock),
        ]
        command += ["--upgrade"] if upgrade else []
        subprocess.run(command, cwd=ROOT, check=True)
        entries = re.split(r"\n(?=\S)", lock.read_text().strip())
    return [entry for entry in entries if not OF_NVIDIA.match(entry)]


def pin(entry: str) -> str:
    """Return the entry's first line: name, version without a build, marker."""
    line = entry.splitlines()[0].removesuffix("\\").strip()
    return re.sub(r"\+\w+", "", line)


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser("tools.lock")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    upgrade = parser.parse_args().upgrade
    uv = find_uv()
    if uv is None:
        sys.exit("make: there is no uv on this machine; `make setup` installs it into .venv")
    entries = resolve(uv, upgrade)
    pins = [pin(entry) for entry in entries]
    hashed = [entry for entry in entries if not entry.startswith("torch==")]
    LOCK.write_text(HEADER + "\n".join(pins) + "\n")
    HASHES.write_text(HEADER + "\n".join(hashed) + "\n")
    print(f"{len(pins)} versions locked")


if __name__ == "__main__":
    main()
