"""The `pip` of a replica: `pip install` without a network.

A container's start-up line may install the job's code and its requirements before it runs them.
Here local archives are unpacked into a folder that is on the replica's PYTHONPATH already, names
are compared with what is installed, and all else that pip does is left to the real one.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from local_cloud.engine.packages import PackageError, code_root, missing, requirements_of, unpack

HERE = Path(__file__).resolve()
# pip's options that take a value; those that take none need not be known.
WITH_VALUE = (
    *("-c", "--constraint", "-t", "--target", "-i", "--index-url", "--extra-index-url"),
    *("-f", "--find-links", "--prefix", "--root", "--src", "--timeout", "--retries", "--proxy"),
    *("--trusted-host", "--cert", "--cache-dir", "--log", "--progress-bar", "--platform"),
    *("--upgrade-strategy", "--no-binary", "--only-binary", "--root-user-action"),
)


def write_stand_ins(folder: Path) -> Path:
    """Write `pip` and `pip3`, which go first on a replica's PATH, into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    # -I: nothing that the job puts on its PYTHONPATH can get in the way.
    code = f"import sys; sys.path.insert(0, {str(HERE.parents[2])!r}); "
    code += f"from local_cloud.engine.{HERE.stem} import main; main()"
    command = shlex.join([sys.executable, "-I", "-c", code])
    for name in ("pip", "pip3"):
        fresh = folder / f".{name}"
        fresh.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(folder / name)  # a replica of an earlier server may be reading the old one
    return folder


def main() -> None:
    """`pip` as a replica calls it."""
    words = sys.argv[1:]
    verb = next((word for word in words if not word.startswith("-")), None)
    if verb != "install":
        os.execv(sys.executable, [sys.executable, "-m", "pip", *words])
    words.remove("install")
    try:
        install(words, Path(os.environ["LOCAL_CLOUD_PACKAGES"]))
    except PackageError as problem:
        sys.exit(f"ERROR: {problem}")


def install(words: list[str], packages: Path) -> None:
    """`pip install` with these arguments; PackageError if something is not to be had here."""
    quiet, targets = parsed(words)
    for target in targets:
        said = _install(target, packages)
        if not quiet:
            print(said)


def parsed(words: list[str]) -> tuple[bool, list[str]]:
    """Whether to be quiet, and what to install; files of requirements are read."""
    parser = argparse.ArgumentParser("pip install", allow_abbrev=False, add_help=False)
    parser.add_argument("-q", "--quiet", action="count", default=0)
    parser.add_argument("-r", "--requirement", action="append", default=[])
    parser.add_argument("-e", "--editable", action="append", default=[])
    for option in WITH_VALUE:
        parser.add_argument(option, action="append", dest="ignored")
    known, others = parser.parse_known_args(words)
    targets = [*known.editable, *(word for word in others if not word.startswith("-"))]
    for file in known.requirement:
        targets += _listed(Path(file))
    return bool(known.quiet), targets


def _listed(file: Path) -> list[str]:
    """The requirements in a file; its options (an index, another file) are passed over."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as problem:
        raise PackageError(f"{file} cannot be read: {problem.strerror}") from problem
    stripped = (line.split(" #")[0].strip() for line in lines)
    return [line for line in stripped if line and not line.startswith(("#", "-"))]


def _install(target: str, packages: Path) -> str:
    """Install one thing; a line that says what happened."""
    path = Path(target.partition("[")[0])
    local = os.sep in target or target.startswith(".")  # as pip: "torch" is never a folder
    if path.name.endswith((".tar.gz", ".tgz", ".zip", ".whl")) or (local and path.is_dir()):
        return _install_local(path, packages)
    try:
        name = Requirement(target).name
    except InvalidRequirement:
        raise PackageError(
            f"{target} would have to be fetched, and a local job has no network: send the package"
            " as an archive, or install it in the environment that the local cloud runs in"
        ) from None
    if name != "pip":  # this is pip, and an environment need not have another
        _check([target], "")
    return f"Requirement already satisfied: {target} (nothing is fetched: this job runs locally)"


def _install_local(path: Path, packages: Path) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        code = code_root(path) if path.is_dir() else unpack(path, Path(scratch))
        _check(requirements_of(code), f"{path.name}: ")
        shutil.copytree(code, packages, dirs_exist_ok=True)
    return f"Successfully unpacked {path.name} into {packages}"


def _check(requirements: list[str], about: str) -> None:
    if problems := missing(requirements):
        raise PackageError(
            f"{about}{' '.join(problems)} Nothing is installed for a local job: install it in the"
            f" environment of the local cloud, {sys.executable}"
        )
