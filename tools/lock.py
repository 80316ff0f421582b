"""Resolve pyproject.toml: write requirements.txt, hashes.txt and environment.yml.

`make lock` runs this. It keeps the versions that are locked where it can; `make lock
ARGS=--upgrade` takes the newest. One lock serves Linux and macOS and each Python from the oldest
on: uv resolves for all of them and marks what only some need. No file names an index, so that each
reader's own is used.

torch is pinned without a build and without hashes, because its builds differ from machine to
machine; what its builds for NVIDIA's cards need besides, they bring themselves.
"""

from __future__ import annotations

import argparse
import itertools
import re
import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

from tools import environment

ROOT = environment.ROOT
HEADER = "# Written by `make lock` from pyproject.toml. Do not edit by hand.\n"
GROUPS = ("lesson", "dev")
OF_NVIDIA = re.compile(r"(nvidia|cuda|triton)\b")


def wanted() -> list[str]:
    """The direct requirements of pyproject.toml: the local cloud's, the lesson's, development's."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [table["dependency-groups"][name] for name in GROUPS]
    return [*table["project"]["dependencies"], *itertools.chain(*groups)]


def resolve(upgrade: bool) -> list[str]:
    """The entries that uv resolves to, sorted, each with its hashes on lines of its own."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder)
        uv = environment.find_uv() or environment.bring_uv(Path(folder, "bin", "python"))
        if uv is None:
            raise environment.SetupError("to lock, install uv: pip found none")
        lock = Path(folder, "lock.txt")
        lock.write_text(environment.LOCK.read_text())  # uv prefers the versions that it finds
        command = [str(uv), "pip", "compile", "--quiet", "pyproject.toml"]
        command += [word for name in GROUPS for word in ("--group", name)]
        command += ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest"]
        command += ["--generate-hashes", "--no-annotate", "--no-header", "--output-file", str(lock)]
        command += ["--upgrade"] if upgrade else []
        subprocess.run(command, cwd=ROOT, check=True)
        entries = re.split(r"\n(?=\S)", lock.read_text().strip())
    return [entry for entry in entries if not OF_NVIDIA.match(entry)]


def pin(entry: str) -> str:
    """The entry's first line: name, version without a build, marker."""
    line = entry.splitlines()[0].removesuffix("\\").strip()
    return re.sub(r"\+\w+", "", line)


def normal(name: str) -> str:
    """The name as every index spells it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[=<>~! ]", name)[0]).lower()


def conda_environment(pins: list[str]) -> str:
    """environment.yml: the same pins, installed by pip inside a conda environment."""
    lines = "".join(f"      - {pin}\n" for pin in pins)
    return (
        f"{HEADER}name: neural-networks-on-rented-machines\nchannels:\n  - conda-forge\n"
        f"dependencies:\n  - python=3.11\n  - pip\n  - pip:\n{lines}"
    )


def main() -> None:
    """Write the three files."""
    parser = argparse.ArgumentParser("tools.lock")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    entries = resolve(parser.parse_args().upgrade)
    pins = [pin(entry) for entry in entries]
    hashed = [entry for entry in entries if normal(entry) != "torch"]
    names = {normal(item) for item in wanted()}
    direct = [each for each in pins if normal(each) in names]
    environment.LOCK.write_text(HEADER + "\n".join(pins) + "\n")
    environment.HASHES.write_text(HEADER + "\n".join(hashed) + "\n")
    (ROOT / "environment.yml").write_text(conda_environment(direct))
    print(f"{len(pins)} versions locked, {len(direct)} of them named in pyproject.toml")


if __name__ == "__main__":
    main()
