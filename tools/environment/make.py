"""Make an environment and install into it: with uv, or with pip where uv cannot be had.

Any Python from 3.8 runs this (`python -m tools.environment .venv` with packages, or with `-r
tools/lock/requirements.txt`), so it imports the standard library alone, and files of tools/ that
do the same. The environment has a newer Python if this one is too old for the lesson: uv
finds one, or installs it. An environment that holds what is asked for is left as it is; any other,
an unfinished one above all, is made from scratch.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from types import ModuleType

from tools import times
from tools.environment.compiled import compile_packages
from tools.environment.kernel import IPYTHON, install_kernel, install_lesson
from tools.environment.packages import PACKAGES, install_packages

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "tools/lock/requirements.txt"
HASHES = ROOT / "tools/lock/hashes.txt"
LOCAL_CLOUD = ROOT / "local-cloud"
PACKAGE_INDEX = LOCAL_CLOUD / "src/local_cloud/images/package_index.py"
OLDEST = (3, 11)  # the lesson's Python: requires-python in pyproject.toml

FULL, SMALL = 2.6, 2.0  # GB that the lesson's environment fills: everything, or what cells need
ROOMY = (
    6.0  # GB free, from which on it has everything: a space of SageMaker Studio has 5 by default
)
IS_SMALL = "small.txt"  # in an environment that lacks the packages of BigQuery and of the tests
# Nothing is kept beside a small environment, in which nothing is compiled either.
NO_CACHES = {"UV_NO_CACHE": "1", "PIP_NO_CACHE_DIR": "1"}


def load(file: Path) -> ModuleType:
    """Load one file of a package that is not installed yet, and is too new for some Pythons."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Where uv looks for packages, and which build of PyTorch it takes: the local cloud installs
# packages for its images in the same way, with a file that needs the standard library alone.
package_index = load(PACKAGE_INDEX)
succeeds = package_index.succeeds


class SetupError(RuntimeError):
    """An environment cannot be made; the message says what to do."""


@dataclass(frozen=True)
class Wanted:
    """What an environment is to hold."""

    files: tuple[Path, ...]  # of requirements
    packages: tuple[str, ...] = ()
    small: bool = False  # without the packages of BigQuery and of the tests

    @property
    def lesson(self) -> bool:
        """Say whether it is the environment of the lesson's notebooks: one made from the lock."""
        return LOCK in {file.resolve() for file in self.files}

    def stamp(self) -> str:
        """Return the text that is left in a finished environment: other contents have another."""
        listed = "".join(f"{each}\n" for each in self.packages)
        ours = f"-e {LOCAL_CLOUD.name}\n{' '.join(PACKAGES)}\n" if self.lesson else ""
        texts = (file.read_text(encoding="utf-8") for file in self.files)
        return "".join(texts) + listed + ours

    def arguments(self) -> list[str]:
        """Return the arguments of `install`, for pip and uv; those of a small one are for uv."""
        if self.small:
            project = ["-r", str(LOCAL_CLOUD / "pyproject.toml"), "--extra", "automl"]
            return [*project, "--group", f"{ROOT / 'pyproject.toml'}:lesson", "-c", str(LOCK)]
        return [*self.packages, *(word for file in self.files for word in ("-r", str(file)))]

    def torch(self) -> str | None:
        """Return the line that asks for torch, if there is one."""
        lines = self.stamp().splitlines()
        return next((line for line in lines if re.match(r"torch\b(?!-)", line)), None)


def main(arguments: list[str] | None = None) -> None:
    """Make the environment that the arguments describe, unless it is there."""
    parser = argparse.ArgumentParser("tools.environment", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("-r", dest="files", type=Path, action="append", default=[])
    options = parser.parse_args(arguments)
    wanted = Wanted(tuple(options.files), tuple(options.packages))
    try:
        make(options.folder, wanted)
    except SetupError as problem:
        sys.exit(f"make: {problem}")
    except KeyboardInterrupt:
        sys.exit("\nmake: interrupted. Run the same command again: it keeps what was downloaded.")


def make(folder: Path, wanted: Wanted) -> None:
    """Make the environment, unless it holds what is wanted already; or SetupError."""
    stamp = folder / "installed.txt"
    text = wanted.stamp()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == text:
        return
    print(f"Making {folder.name}, once.", flush=True)
    if wanted.lesson:
        print(f"It takes about {times.SETUP}, and longer if packages are downloaded.", flush=True)
        wanted = fit(folder, wanted)
    python = folder / "bin" / "python"
    if sys.version_info < OLDEST:
        make_with_newer_python(folder)
    else:
        without_pip = ["--clear", "--without-pip", str(folder)]
        subprocess.run([sys.executable, "-m", "venv", *without_pip], check=True)
    uv = find_uv() or install_uv(python)
    if not (uv and install_with_uv(uv, python, wanted)):
        install_with_pip(python, wanted)
    if wanted.lesson:
        install_local_cloud(python)
        install_packages(folder)
        install_lesson(folder / IPYTHON)
        install_kernel(folder)
        if wanted.small:
            drop_tests(folder)
            (folder / IS_SMALL).touch()
        else:
            compile_packages(folder)
    stamp.write_text(text, encoding="utf-8")


def fit(folder: Path, wanted: Wanted) -> Wanted:
    """Return what fits on the disk, and say how much it fills; SetupError if nothing fits."""
    disk = next(each for each in folder.absolute().parents if each.exists())
    free = shutil.disk_usage(disk).free / 1e9
    if free < SMALL:
        raise SetupError(
            f"{free:.1f} GB are free at {disk}, and the lesson needs {SMALL} GB: delete something "
            "there, or clone the lesson onto a larger disk"
        )
    wanted = replace(wanted, small=free < ROOMY)
    size = SMALL if wanted.small else FULL
    print(f"It fills {size} GB of the disk of {disk}, where {free:.1f} GB are free.", flush=True)
    if wanted.small:
        os.environ.update(NO_CACHES)
        left_out = "the packages for BigQuery and for the tests and the site"
        print(f"To leave you room, {left_out} are left out.")
    return wanted


def make_with_newer_python(folder: Path) -> None:
    """Make an empty environment with a Python that is new enough; SetupError if none can be had.

    uv takes one that it finds on this machine, and else installs one for this user alone.
    """
    here, oldest = ".".join(map(str, sys.version_info[:2])), ".".join(map(str, OLDEST))
    print(
        f"This is Python {here}, and {oldest} is the oldest that will do: uv gets one.", flush=True
    )
    with tempfile.TemporaryDirectory() as place:
        uv = find_uv() or install_uv_into(Path(place))
        version = ["--python", f">={oldest}"]
        made = uv and subprocess.run([str(uv), "venv", "--clear", *version, str(folder)])
    if not made or made.returncode:
        why = "its message is above" if made else "this Python's pip could not install uv"
        raise SetupError(
            f"uv could not get a newer Python ({why}); install Python {oldest} or newer, and name "
            f"it: make setup PYTHON=python{oldest}"
        )


def install_uv_into(folder: Path) -> Path | None:
    """Have this Python's pip install uv into a folder; None where it cannot."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if succeeds(*pip, "--target", folder, pinned_uv()):
        return folder / "bin" / "uv"
    return None


def install_local_cloud(python: Path) -> None:
    """Install the local cloud from its folder, whose code it then runs; SetupError if that fails.

    Everything it needs is there, and so is setuptools, which describes it: nothing is downloaded.
    """
    uv = find_uv()
    install = [str(uv), "pip", "install", "--python", str(python)] if uv else None
    install = install or [*(find_pip(python) or ()), "install"]
    flags = ["--quiet", "--no-deps", "--no-build-isolation", "--editable", str(LOCAL_CLOUD)]
    if subprocess.run([*install, *flags]).returncode:
        raise SetupError("the local cloud could not be installed; the message above says why")


def drop_tests(environment: Path) -> None:
    """Remove the packages' own tests, 160 MB of which 80 are torch's: nothing imports them."""
    for name in ("test", "tests"):
        for folder in list(environment.glob(f"lib/python3*/site-packages/**/{name}")):
            shutil.rmtree(str(folder), ignore_errors=True)


def find_uv() -> Path | None:
    """Find an installed uv that can choose a build of PyTorch; the lesson's own first."""
    for place in (str(ROOT / ".venv/bin"), None):  # None: where the shell looks
        uv = shutil.which("uv", path=place)
        if uv and succeeds(uv, "pip", "install", "--torch-backend", "cpu", "--help"):
            return Path(uv)
    return None


def install_uv(python: Path) -> Path | None:
    """Have pip install uv into the environment; None where pip cannot."""
    pip = find_pip(python)
    if pip and succeeds(*pip, "install", "--quiet", pinned_uv()):
        return python.parent / "uv"
    return None


def pinned_uv() -> str:
    """Return the requirement of uv, as it is locked."""
    pinned = re.search(r"^uv==\S+", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    return pinned.group() if pinned else "uv"


def find_pip(python: Path) -> list[str] | None:
    """Return the command of a pip that installs into this environment; None if there is none.

    The pip beside this interpreter will do, which saves unpacking another (ensurepip takes 4 s).
    """
    if has_pip():
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    if succeeds(python, "-m", "ensurepip"):
        return [str(python), "-m", "pip", "--disable-pip-version-check"]
    return None


def has_pip() -> bool:
    """Return whether this interpreter has a pip that can install elsewhere: 22.3 was the first."""
    try:
        found = metadata.version("pip")
    except metadata.PackageNotFoundError:
        return False
    return tuple(map(int, re.findall(r"\d+", found)[:2])) >= (22, 3)


def install_with_uv(uv: Path, python: Path, wanted: Wanted) -> bool:
    """Install with uv, from where pip is configured to look, and check hashes; say if it worked."""
    environment: dict[str, str] = package_index.settings()
    if wanted.lesson:
        environment["UV_COMPILE_BYTECODE"] = "0"  # make() compiles what is needed
    install = [str(uv), "pip", "install", "--python", str(python)]
    build = package_index.torch_build(install, wanted.torch(), environment)
    checked = ["-c", str(HASHES)] if wanted.lesson else []
    for arguments in uv_steps(wanted):
        command = [*install, *package_index.options(environment), *build, *arguments, *checked]
        if subprocess.run(command, env=environment).returncode:
            print("uv could not install this; pip tries.", flush=True)
            return False
    return True


def uv_steps(wanted: Wanted) -> Iterable[list[str]]:
    """Give the arguments of each `uv pip install`.

    The lock alone lists everything, so nothing is resolved, which saves seconds. Only torch's
    ordinary build needs more, by which NVIDIA's cards are used.
    """
    if not wanted.lesson or len(wanted.files) > 1 or wanted.packages or wanted.small:
        yield wanted.arguments()
        return
    yield ["--no-deps", *wanted.arguments()]
    torch = wanted.torch()
    if torch:
        yield [torch]


def install_with_pip(python: Path, wanted: Wanted) -> None:
    """Install with pip; SetupError if it fails."""
    if wanted.small:
        raise SetupError(
            f"pip installs everything, for which less than {ROOMY} GB free is too little: install "
            "uv, or clone the lesson onto a larger disk"
        )
    pip = find_pip(python)
    if pip is None:
        raise SetupError(
            f"{sys.executable} has neither pip nor ensurepip; on Debian and Ubuntu:"
            " sudo apt install python3-venv"
        )
    print("Installing with pip, which takes minutes; its last step is silent.", flush=True)
    for arguments in pip_steps(wanted):
        if subprocess.run([*pip, "install", *arguments]).returncode:
            raise SetupError(
                "pip could not install everything; its message is above. Once the cause is gone,"
                " run the same command again: it keeps what was downloaded"
            )


def pip_steps(wanted: Wanted) -> Iterable[list[str]]:
    """Give the arguments of each `pip install`: one call checks hashes of all, or of nothing."""
    if wanted.lesson:
        yield ["--no-compile", "--require-hashes", "--no-deps", "-r", str(HASHES)]
        yield ["--no-compile", *wanted.arguments()]
    else:
        yield wanted.arguments()
