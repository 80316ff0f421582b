"""Resolve pyproject.toml afresh: write requirements.txt (every version) and environment.yml.

`make lock` runs this. The result is what pip chose in an empty environment, so a lock is never a
mixture of old and new. Local version labels (torch's "+cpu") are dropped: the pin then takes the
CPU build where the reader's index offers one, and the ordinary build elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Written by `make lock` from pyproject.toml. Do not edit by hand.\n"


def wanted() -> tuple[list[str], list[str]]:
    """The direct requirements of pyproject.toml: (for the lesson, for development)."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return table["project"]["dependencies"], table["dependency-groups"]["dev"]


def resolve(requirements: list[str]) -> list[str]:
    """Install into an empty environment and return the frozen lines, sorted, without labels."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *requirements], check=True)
        frozen = subprocess.run(
            [*pip, "freeze", "--all", "--exclude", "pip"],
            check=True,
            capture_output=True,
            text=True,
        )
    return [line.split("+")[0] for line in frozen.stdout.splitlines()]


def direct_pins(lock: list[str], requirements: list[str]) -> list[str]:
    """The lines of the lock that pin a direct requirement."""
    names = {re.split(r"[=<>~! ]", item)[0].lower().replace("_", "-") for item in requirements}
    return [line for line in lock if line.split("==")[0].lower().replace("_", "-") in names]


def conda_environment(pins: list[str]) -> str:
    """environment.yml: the same pins, installed by pip inside a conda environment."""
    lines = "".join(f"      - {pin}\n" for pin in pins)
    return (
        f"{HEADER}name: neural-networks-on-rented-machines\nchannels:\n  - conda-forge\n"
        f"dependencies:\n  - python=3.11\n  - pip\n  - pip:\n{lines}"
    )


def main() -> None:
    """Write both files."""
    lesson, development = wanted()
    lock = resolve(lesson + development)
    (ROOT / "requirements.txt").write_text(HEADER + "\n".join(lock) + "\n")
    pins = direct_pins(lock, lesson + development)
    (ROOT / "environment.yml").write_text(conda_environment(pins))
    print(f"{len(lock)} versions locked, {len(pins)} of them named in pyproject.toml")


if __name__ == "__main__":
    main()
