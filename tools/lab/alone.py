"""Prepare a notebook that is alone in Google Colab or Kaggle: its first cell runs this file there.

Those have one kernel, whose Python is given. The lesson's packages go into an environment of that
Python, in which the local cloud and its jobs run; the kernel finds them there before its own. What
it has imported already stays. (Its own packages first, and those of the lesson for what is missing,
does not work: generated code of one SDK refuses the older protobuf of another.)
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
VARIABLES = ("COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE")  # as in lesson/setup/places.py

# Where one opens a notebook of a repository on GitHub, by the notebook's path in it.
OPENED_BY = {
    "Google Colab": "https://colab.research.google.com/github/{name}/blob/{branch}/{path}",
    "Kaggle": "https://kaggle.com/kernels/welcome?src={source}/blob/{branch}/{path}",
}

# The first lines of a notebook. Nothing of the lesson is there yet, so they get it.
CELL = """\
import os

if "{0}" in os.environ or "{1}" in os.environ:  # only this notebook is there
    ![ -d ~/rented-machines ] || git clone --depth 1 {source} ~/rented-machines
    %run ~/rented-machines/tools/lab/alone.py

"""

# The same where nobody has written the lesson's URL into config.yaml: no clone can work.
PLACEHOLDER = "https://example.org/"
HOMELESS = """\
import os

if "{0}" in os.environ or "{1}" in os.environ:  # only this notebook is there
    if not os.path.isdir(os.path.expanduser("~/rented-machines")):
        raise SystemExit("Nobody has set this lesson's URL: instructors/places.md says how")
    %run ~/rented-machines/tools/lab/alone.py

"""


def cell(source: str) -> str:
    """Return the first lines of every notebook; source: where the lesson is cloned from."""
    lines = HOMELESS if source.startswith(PLACEHOLDER) else CELL
    return lines.format(*VARIABLES, source=source)


def elsewhere(source: str, branch: str, path: str) -> dict[str, str]:
    """Return the URLs that open a notebook elsewhere; none if its repository is not on GitHub."""
    name = source.removeprefix("https://github.com/")
    if name == source:
        return {}
    return {
        place: url.format(name=name, source=source, branch=branch, path=path)
        for place, url in OPENED_BY.items()
    }


def prepare() -> None:
    """Make the environment, start the local cloud, and let this kernel find both; RuntimeError."""
    show([sys.executable, "-m", "tools.environment", ".venv", "-r", "tools/lock/requirements.txt"])
    local_cloud = [str(VENV / "bin/python"), "-m", "local_cloud"]
    show([*local_cloud, "start"])
    for line in run([*local_cloud, "env"]):
        word, *exported = shlex.split(line)
        for each in exported if word == "export" else ():
            name, _, value = each.partition("=")
            os.environ[name] = value
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = VENV / "lib" / version / "site-packages"  # without what its .pth files name
    ours = [str(ROOT), str(ROOT / "local-cloud/src"), str(packages)]
    sys.path[:0] = [folder for folder in ours if folder not in sys.path]
    print(f"The lesson is in {ROOT}.")


def show(words: Sequence[str]) -> None:
    """Run a command in the lesson's folder, and show what it says below the cell."""
    for line in run(words):
        print(line, flush=True)


def run(words: Sequence[str]) -> Iterator[str]:
    """Run a command in the lesson's folder; give its lines, and raise RuntimeError if it fails."""
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            yield line.rstrip("\n")
    if process.returncode:
        raise RuntimeError(f"{shlex.join(words)} has failed; run the cell again, or restart")


if __name__ == "__main__":
    prepare()
