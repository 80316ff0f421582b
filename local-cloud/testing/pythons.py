"""Find a Python of another version: `python pythons.py 3.13` prints its path.

It is one of the system's, or of pyenv's, whose own commands answer only for the chosen versions;
else uv installs one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

UV = str(Path(__file__).parents[2] / ".venv/bin/uv")


def find(version: str) -> str:
    """Return the path; CalledProcessError if there is none, and uv cannot install one."""
    if own := shutil.which(f"python{version}", path="/usr/bin:/usr/local/bin:/opt/homebrew/bin"):
        return own
    kept = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python3"))
    if kept:
        return str(kept[-1])
    subprocess.run([UV, "python", "install", "--quiet", version], check=True)
    command = [UV, "python", "find", "--managed-python", version]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    print(find(sys.argv[1]))
