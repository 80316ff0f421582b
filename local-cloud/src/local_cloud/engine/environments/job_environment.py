"""The Python environment of one job: a virtual environment of its own, in the job's folder.

It begins empty and sees the packages of its base (base.py), behind its own: a job that installs
something changes what it alone imports. Its `pip` is ours (pip_command.py), however it is called.
Every Python that starts in it first runs the file that the engine was given.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path

from local_cloud.engine.base import Base
from local_cloud.engine.environments import uv
from local_cloud.engine.isolation.apart import Apart

ROOT = Path(__file__).resolve().parents[3]
INSTALLED = Path(sysconfig.get_path("scripts"))  # where the server's packages have their commands
STARTUP = "_local_cloud_job"  # the module that a .pth file of the environment imports
SETTINGS = "uv.json"
EXCLUDED = "excluded.txt"
ITSELF = ("pip", "uv")  # asked to update itself, it is new enough
BASE = "base.json"
WHEELS = "wheels.txt"  # the folder with the wheels that are kept for all jobs
# The job's own packages come first. `zz`: behind the .pth files of what the job installs.
PTH = "zz_local_cloud.pth"
STARTUP_CODE = """\
import site
import sys

before = set(sys.path)
for folder in {sites!r}:
    site.addsitedir(folder)
added = [folder for folder in sys.path if folder not in before]
if {hook!r}:
    import importlib.util

    spec = importlib.util.spec_from_file_location("_local_cloud_startup", {hook!r})
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""
# The server's environment has the local cloud itself, which no job finds on the real services. So
# the package is hidden, and its description, by which pytest would load its plugin. A program that
# puts the folder on the path once more finds it: our own programs in jobs do.
HIDING_CODE = """
from importlib.machinery import PathFinder

find_spec_anywhere = PathFinder.find_spec
find_all_distributions = PathFinder.find_distributions


def find_spec(finder, name, path=None, target=None):
    if name == "local_cloud":
        path = sys.path[::-1]
        for folder in added:
            if folder in path:
                path.remove(folder)  # once, from the end
        path.reverse()
    return find_spec_anywhere(name, path, target)


def find_distributions(finder, *context, **more):
    for each in find_all_distributions(*context, **more):
        if (each.read_text("top_level.txt") or "").strip() != "local_cloud":
            yield each


PathFinder.find_spec = classmethod(find_spec)
PathFinder.find_distributions = classmethod(find_distributions)
"""
# -I: nothing that the job puts on its PYTHONPATH or into its folder can get in the way. SDKs let
# pip update itself at the start of a job: that is answered without a second process.
PIP_CODE = '''\
"""The local cloud's pip: it installs into this job's environment, and without a network."""
import sys

__version__ = "{version}"
COMMAND = {command!r}
ITSELF = ({{"install", "pip"}}, {{"install", "--upgrade", "pip"}}, {{"install", "-U", "pip"}})


def main(args=None):
    words = sys.argv[1:] if args is None else args
    if set(words) in ITSELF:
        print("Requirements already satisfied")
        return 0
    import subprocess

    return subprocess.call([*COMMAND, *words])
'''
PIP_MAIN = """\
import os, sys
from pip import COMMAND, ITSELF, main
if set(sys.argv[1:]) in ITSELF:
    sys.exit(main())
os.execv(COMMAND[0], [*COMMAND, *sys.argv[1:]])
"""
PIP_SCRIPT = '#!/bin/sh\nexec "${0%/*}/python" -I -m pip "$@"\n'


@dataclass(frozen=True)
class JobEnvironment:
    """The virtual environment in a folder; make() puts it there."""

    folder: Path
    base: Base
    wheels: Path | None = None  # of all jobs; None: each job builds its own
    apart: Apart | None = None  # what uv sees while the server runs it; None: what the job sees

    @classmethod
    def at(cls, folder: Path) -> JobEnvironment:
        """Return the environment that was made in this folder."""
        fields = json.loads((folder / BASE).read_text(encoding="utf-8"))
        listed = {name: tuple(fields[name]) for name in ("sites", "commands", "unchanged")}
        base = Base(**{**fields, **listed, "python": Path(fields["python"])})
        wheels = (folder / WHEELS).read_text(encoding="utf-8")
        return cls(folder, base, Path(wheels) if wheels else None)

    @property
    def python(self) -> Path:
        """Return the interpreter of the job."""
        return self.folder / "bin" / "python"

    @property
    def scripts(self) -> Path:
        """Return the folder that goes first on the job's PATH."""
        return self.folder / "bin"

    @property
    def packages(self) -> Path:
        """Return its site-packages, where only what the job installs is."""
        return self.folder / "lib" / f"python{self.base.version}" / "site-packages"

    @property
    def path(self) -> list[str]:
        """Return the folders in which the job finds packages, its own first."""
        return [str(self.packages), *self.base.sites]

    def make(self, hook: Path | None = None) -> None:
        """Make it, empty. hook: a file that each Python of the job runs when it starts."""
        if self.base.is_servers:
            venv.EnvBuilder(symlinks=True, with_pip=False).create(self.folder)
        else:  # by its own interpreter, which may be of another version
            words = ("-I", "-m", "venv", "--without-pip", str(self.folder))
            subprocess.run([self.base.python, *words], check=True, capture_output=True)
        (self.folder / BASE).write_text(
            json.dumps(asdict(replace(self.base, contents=None)), default=str), "utf-8"
        )
        (self.folder / WHEELS).write_text(str(self.wheels or ""), encoding="utf-8")
        code = STARTUP_CODE.format(sites=self.base.sites, hook=str(hook) if hook else "")
        if self.base.is_servers:
            code += HIDING_CODE
        (self.packages / f"{STARTUP}.py").write_text(code, encoding="utf-8")
        (self.packages / PTH).write_text(f"import {STARTUP}\n", encoding="utf-8")
        (self.folder / EXCLUDED).write_text("\n".join(ITSELF), encoding="utf-8")
        self._write_pip()
        with open(self.folder / SETTINGS, "w", opener=_private, encoding="utf-8") as file:
            json.dump(uv.variables(os.environ), file)  # an index's URL may hold a password

    def _write_pip(self) -> None:
        start = f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        start += f" from {__package__}.pip_command import main; main({str(self.folder)!r})"
        package = PIP_CODE.format(
            version=metadata.version("pip"), command=[sys.executable, "-I", "-c", start]
        )
        internal = "from pip import main\n"
        for name, text in {
            "__init__": package,
            "__main__": PIP_MAIN,
            # Public scripts import it from either of these.
            "_internal/__init__": internal,
            "_internal/cli/__init__": "",
            "_internal/cli/main": internal,
        }.items():
            path = self.packages / "pip" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name in ("pip", "pip3", f"pip{self.base.version}"):
            _write_script(self.scripts / name, PIP_SCRIPT)

    def variables(self) -> dict[str, str]:
        """Return what tells tools that this is their environment, and that there is no network."""
        python = str(self.python)
        return {
            "VIRTUAL_ENV": str(self.folder),
            # For the real pip and for uv, which can be called by their own paths.
            "PIP_PYTHON": python,
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "UV_PYTHON": python,
            "UV_OFFLINE": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_LINK_MODE": "copy",
        }

    def uv_variables(self) -> dict[str, str]:
        """Return the variables with which uv finds the cache and the index of the server's user."""
        variables: dict[str, str] = json.loads((self.folder / SETTINGS).read_text(encoding="utf-8"))
        return variables

    def list_installed(self) -> list[str]:
        """Return the files that describe what the job has installed.

        An untouched environment has none.
        """
        return [str(entry) for entry in self.packages.glob("*.dist-info")]


def write_scripts(folder: Path, installed: Path | None = None) -> Path:
    """Write the commands of installed packages (torchrun, …) so that the job's Python runs them.

    As they are installed, they name one interpreter, and would not see what a job has installed.
    These take the first `python` on PATH. One folder serves all jobs. installed: where they are;
    None: where the server's packages have theirs.
    """
    installed = installed or INSTALLED
    folder.mkdir(parents=True, exist_ok=True)
    for script in installed.iterdir() if installed.is_dir() else ():
        if script.is_file() and not script.name.startswith(("pip", "python")):
            with script.open("rb") as file:
                start = file.read(2)
                text = start + file.read() if start == b"#!" else b""
            if body := _without_interpreter(text):
                _write_script(folder / script.name, f"#!/usr/bin/env python\n{body}")
    return folder


def _without_interpreter(script: bytes) -> str:
    """Return a script of Python without the lines that name the interpreter; "" if it is none."""
    head, _, body = script.partition(b"\n")
    if head == b"#!/bin/sh" and body.startswith(b"'''exec'"):  # a path too long for the first line
        head, _, body = body.partition(b"\n' '''\n")
    return body.decode("utf-8", "replace") if b"python" in head else ""


def _write_script(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(0o755)
    fresh.replace(path)  # a replica of an earlier server may be reading the old one


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
