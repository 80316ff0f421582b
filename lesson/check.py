"""Is this machine ready for the lesson? `python -m lesson.check` says so, one line per thing.

In a notebook: `from lesson import check; check.set_up()`. It needs no package to begin with, so
that it can also tell what is missing. `python -m lesson.check --target cloud` asks the real clouds
instead, by read-only calls; what it asks of each is in the helpers' readiness.py.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module, metadata
from pathlib import Path

from lesson import ROOT, target
from lesson.setup import people, places
from lesson.setup.findings import Fix, Skip, report

LOCAL_CLOUD = ROOT / "local-cloud"

OLDEST_PYTHON = (3, 11)
FREE_GB = 1.0  # for buckets and runs; the environment is there already when this is asked
CLOUDS = {"gcp": "Google Cloud", "aws": "Amazon Web Services"}


def set_up() -> bool:
    """Check everything, print a line for each thing; returns whether nothing is to be fixed.

    It sends one job to each cloud of the local cloud, and deletes it; nothing else is changed.
    """
    return _conclude(report(CHECKS))


def clouds(*names: str, region: str | None = None) -> bool:
    """Check with read-only calls whether the real clouds are ready for the lesson's jobs.

    `names` are gcp and aws; none is both. `region` is where the jobs run, if connect() is given
    another one than its own. Print a line for each thing, and return whether nothing
    is to be fixed. LESSON_TARGET has to be cloud. Nothing is made, sent or changed.
    """
    fix = 0
    for name in names or tuple(CLOUDS):
        print(f"\n{CLOUDS[name]}, by read-only calls:")
        readiness = import_module(f"{name.upper()}_helpers.readiness")
        fix += report(readiness.checks(region), readiness.FIRST)
    return _conclude(fix)


def _conclude(fix: int) -> bool:
    print(f"\n{fix} of these to fix, from the top." if fix else "\nAll is ready.")
    return not fix


def python() -> str:
    """Check the version of the Python that runs this, and say where it lies."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        raise Fix(
            f"{version} is too old: install 3.11 or newer, then `make setup PYTHON=python3.11`"
        )
    return f"{version}, {sys.executable}"


def packages() -> str:
    """Check that the packages of tools/lock/requirements.txt are here, those pinned as pinned."""
    pins = _pins((ROOT / "tools/lock/requirements.txt").read_text(encoding="utf-8"))
    small = (
        Path(sys.prefix) / "small.txt"
    ).is_file()  # tools/environment/make.py has left some out
    named = _package_names(small)
    versions = {name: _version_of(name) for name in pins}
    missing = [name for name in (named if small else pins) if versions.get(name) is None]
    if missing:
        raise Fix(f"{_some(missing)} not in {sys.executable}: {_enter()}")
    other = [f"{name} {versions[name]}" for name in named if versions.get(name) != pins.get(name)]
    if other:
        raise Fix(f"{_some(other)}: other versions than in tools/lock/requirements.txt: {_enter()}")
    if small:
        return f"all of {len(named)}; to spare the disk, those for BigQuery and tests were left out"
    return f"all {len(pins)} of tools/lock/requirements.txt"


def _pins(lock: str) -> dict[str, str]:
    """Name and version of every line of the lock."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", lock, re.MULTILINE))


def _package_names(small: bool) -> list[str]:
    """Return the packages that both pyproject.toml ask for; of a small environment, those it has.

    Others may differ, as they do with conda.
    """
    import tomllib

    lesson, house = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        for folder in (ROOT, LOCAL_CLOUD)
    )
    requirements = house["project"]["dependencies"] + lesson["dependency-groups"]["lesson"]
    extras = house["project"]["optional-dependencies"]
    requirements += extras["automl"] if small else itertools.chain(*extras.values())
    return [re.split(r"[=<>]", each)[0].strip() for each in requirements]


def _version_of(name: str) -> str | None:
    """Return its version without the build, which differs from machine to machine.

    Return None if the package is missing.
    """
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:
        return None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _enter() -> str:
    """Say how to get into the environment, or how to make it."""
    if (ROOT / ".venv/installed.txt").is_file() and Path(sys.prefix) != ROOT / ".venv":
        return "use .venv/bin/python; in a notebook, choose the kernel of the lesson"
    return "run `make setup` in a terminal, then restart the kernel"


def disk() -> str:
    """Check whether there is room where the lesson writes."""
    from local_cloud import status

    for folder in (ROOT, status().home.folder):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        free = shutil.disk_usage(there).free / 1e9
        if free < FREE_GB:
            raise Fix(f"{free:.1f} GB free at {there}: delete something, or rent a larger disk")
    return f"{shutil.disk_usage(ROOT).free / 1e9:.0f} GB free"


def local_cloud() -> str:
    """Check whether the stand-in starts, and answers."""
    _only_local()
    from local_cloud import activate

    running = activate()
    return f"it answers; its folder is {running.home.folder}. {running.facts['isolation']}"


def vertex() -> str:
    """Check whether a job on Vertex AI runs."""
    return _job("vertex")


def sagemaker() -> str:
    """Check whether a job on SageMaker runs."""
    return _job("sagemaker")


def _job(service: str) -> str:
    _only_local()
    from lesson.setup import tiny_jobs

    seconds: float = getattr(tiny_jobs, service)()
    return f"it succeeded after {seconds:.1f} s"


def _only_local() -> None:
    if target() == "cloud":
        raise Skip("LESSON_TARGET is cloud, where a job costs money: nothing was sent")


def notebooks() -> str:
    """Check whether there are notebooks to work in, and whether results can be written."""
    for name in ("work", "runs"):
        folder = ROOT / name if (ROOT / name).exists() else ROOT
        if not os.access(folder, os.W_OK):
            raise Fix(f"{folder} cannot be written: clone the lesson into a folder of your own")
    mine = len(list((ROOT / "work").glob("*.ipynb")))
    return f"{mine} to work in, in work/" if mine else "`make lab` puts copies for you into work/"


def place() -> str:
    """Say where this is, and what follows from it."""
    here = places.find()
    if here.notebook:
        return f"{here.name}: its first cell has prepared this notebook"
    if not here.hub:
        return f"{here.name}: `make lab` opens the notebooks"
    if not _kernel_of_this_user():
        raise Fix(
            f"{here.name}: its JupyterLab does not know the lesson's kernel; run `make hub` or"
            " `python3 -m tools.lab.hub` in a terminal, then reload the page"
        )
    return f"{here.name}: open work/ in the JupyterLab that runs, not with `make lab`"


def _kernel_of_this_user() -> bool:
    """Return whether every JupyterLab of this user has the lesson's kernel."""
    from jupyter_core.paths import jupyter_data_dir

    return Path(jupyter_data_dir(), "kernels", "rented-machines", "kernel.json").is_file()


CHECKS = {
    "Python": python,
    "packages": packages,
    "disk": disk,
    "local cloud": local_cloud,
    "job on Vertex AI": vertex,
    "job on SageMaker": sagemaker,
    "notebooks": notebooks,
    "kernels": people.kernels,
    "place": place,
}


def main(arguments: Sequence[str] | None = None) -> bool:
    """Run the command; return whether nothing is to be fixed."""
    parser = argparse.ArgumentParser(prog="python -m lesson.check", description="Is all ready?")
    parser.add_argument("--target", choices=("local", "cloud"), default="local")
    parser.add_argument(
        "--cloud", choices=(*CLOUDS, "both"), default="both", help="of target cloud"
    )
    parser.add_argument("--region", help="where the jobs run, of one cloud")
    chosen = parser.parse_args(arguments)
    # Where this Python lacks the lesson's packages, the local cloud is found in its folder.
    sys.path.append(str(LOCAL_CLOUD / "src"))
    if chosen.region and chosen.cloud == "both":
        parser.error("--region is of one cloud: name it, with --cloud")
    if chosen.target == "local":
        return set_up()
    os.environ["LESSON_TARGET"] = "cloud"
    names = CLOUDS if chosen.cloud == "both" else (chosen.cloud,)
    return clouds(*names, region=chosen.region)


if __name__ == "__main__":
    try:
        sys.exit(not main())
    except KeyboardInterrupt:
        sys.exit("lesson: stopped before the end; what was printed holds")
