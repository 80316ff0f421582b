"""Make an environment and install into it: with uv, or with pip where uv cannot be had.

Any Python from 3.11 runs this (`python -m tools.environment .venv -r requirements.txt`, or with
packages in place of a file), so it imports the standard library alone. An environment that holds
what is asked for is left as it is; any other, an unfinished one above all, is made from scratch.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.txt"
HASHES = ROOT / "hashes.txt"

# IPython reads this when a kernel starts. Only kernels find the lesson's packages by it: a job runs
# with the same interpreter, and has what was sent with it and nothing else, as on the services.
IPYTHON = "etc/ipython"  # below the environment
KERNEL_CONFIG = """\
# Written by tools/environment.py: notebooks find the lesson wherever Jupyter was started.
import sys

sys.path.insert(0, {root!r})
c = get_config()
c.InteractiveShellApp.extensions = ["lesson.notebook_errors"]
"""

# What uv calls an option of pip's configuration. pip separates several values by blanks.
AS_UV_CALLS_IT = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}


class SetupError(RuntimeError):
    """An environment cannot be made; the message says what to do."""


@dataclass(frozen=True)
class Wanted:
    """What an environment is to hold."""

    files: tuple[Path, ...]  # of requirements
    packages: tuple[str, ...] = ()

    @property
    def lesson(self) -> bool:
        """Whether it is the environment of the lesson's notebooks: one made from the lock."""
        return LOCK in {file.resolve() for file in self.files}

    def stamp(self) -> str:
        """The text that is left in a finished environment: other wishes have another."""
        listed = "".join(f"{each}\n" for each in self.packages)
        return "".join(file.read_text(encoding="utf-8") for file in self.files) + listed

    def arguments(self) -> list[str]:
        """The same, for `install` of pip or uv."""
        return [*self.packages, *(word for file in self.files for word in ("-r", str(file)))]


def main(arguments: list[str] | None = None) -> None:
    """Make the environment that the arguments describe, unless it is there."""
    parser = argparse.ArgumentParser("tools.environment", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("-r", dest="files", type=Path, action="append", default=[])
    told = parser.parse_args(arguments)
    wanted = Wanted(tuple(told.files), tuple(told.packages))
    try:
        make(told.folder, wanted)
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
    print(f"Making {folder.name}, once: 20 seconds to three minutes.", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    uv = find_uv() or bring_uv(python)
    if uv and install_with_uv(uv, python, wanted):
        compile_packages(folder)
    else:
        install_with_pip(python, wanted)
    if wanted.lesson:
        install_lesson(folder / IPYTHON)
    stamp.write_text(text, encoding="utf-8")


def install_lesson(configuration: Path, root: Path = ROOT) -> None:
    """Have notebook kernels find the lesson's packages in `root`.

    `configuration` is a folder in which IPython looks for settings: that of an environment, or of
    a profile, which comes before it.
    """
    configuration.mkdir(parents=True, exist_ok=True)
    file = configuration / "ipython_kernel_config.py"
    file.write_text(KERNEL_CONFIG.format(root=str(root)), encoding="utf-8")


def find_uv() -> Path | None:
    """An installed uv that can choose a build of PyTorch; the lesson's own first."""
    for place in (str(ROOT / ".venv/bin"), None):  # None: where the shell looks
        found = shutil.which("uv", path=place)
        if found and _succeeds(found, "pip", "install", "--torch-backend", "cpu", "--help"):
            return Path(found)
    return None


def bring_uv(python: Path) -> Path | None:
    """Have pip install uv into the environment; None where pip cannot."""
    pinned = re.search(r"^uv==\S+", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    name = pinned.group() if pinned else "uv"
    pip = pip_for(python)
    if pip and _succeeds(*pip, "install", "--quiet", name):
        return python.parent / "uv"
    return None


def pip_for(python: Path) -> list[str] | None:
    """The command of a pip that installs into this environment; None if there is none.

    The pip beside this interpreter will do, which saves unpacking another (ensurepip takes 4 s).
    """
    outside = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    if _succeeds(*outside, "--version"):
        return outside
    if _succeeds(python, "-m", "ensurepip"):
        return [str(python), "-m", "pip", "--disable-pip-version-check"]
    return None


def install_with_uv(uv: Path, python: Path, wanted: Wanted) -> bool:
    """Whether uv installed it. It looks where pip is configured to look, and checks hashes."""
    said = _output(sys.executable, "-m", "pip", "config", "list")
    environment = {**pip_configuration(said), **os.environ}
    install = [str(uv), "pip", "install", "--python", str(python)]
    build = torch_build(install, wanted, environment)
    checked = ["-c", str(HASHES)] if wanted.lesson else []
    command = [*install, *build, *wanted.arguments(), *checked]
    if subprocess.run(command, env=environment).returncode == 0:
        return True
    print("uv could not install this; pip tries.", flush=True)
    return False


def pip_configuration(listed: str) -> dict[str, str]:
    """The variables that tell uv what `pip config list` printed."""
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


def torch_build(install: list[str], wanted: Wanted, environment: Mapping[str, str]) -> list[str]:
    """The options by which uv takes the build of PyTorch that suits this machine.

    The ordinary build for Linux brings gigabytes of libraries for NVIDIA's cards. uv knows the
    index of the other builds. It is left alone where the reader's configuration offers a build
    already (a version such as 2.13.0+cpu), and where that index cannot be reached.
    """
    pinned = _torch(wanted)
    if sys.platform != "linux" or pinned is None:
        return []
    look = [*install, "--dry-run", "--no-deps", pinned]
    if re.search(r"torch==\S+\+", _output(*look, environment=environment)):
        return []
    backend = ["--torch-backend", "auto" if has_nvidia_card() else "cpu"]
    if _succeeds(*look, *backend, environment={**environment, "UV_HTTP_RETRIES": "1"}):
        return backend
    print("PyTorch's own index cannot be reached: its ordinary, large build is installed.")
    return []


def has_nvidia_card() -> bool:
    """Whether NVIDIA's driver is here."""
    return bool(shutil.which("nvidia-smi")) or Path("/proc/driver/nvidia").exists()


def _torch(wanted: Wanted) -> str | None:
    """The line that asks for torch."""
    lines = wanted.stamp().splitlines()
    return next((line for line in lines if re.match(r"torch\b(?!-)", line)), None)


def compile_packages(folder: Path) -> None:
    """Compile what uv has installed, as pip does by itself.

    Else the first import of each package takes seconds longer, and says what Python thinks of the
    package's source. uv's own --compile-bytecode gives up after a minute. Some packages hold files
    that no Python compiles: their imports would fail all the same.
    """
    print("Compiling the packages, so that they start quickly ...", flush=True)
    python = folder / "bin" / "python"
    words = ["-W", "ignore", "-m", "compileall", "-q", "-q", "-j", "0", str(folder / "lib")]
    subprocess.run([python, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def install_with_pip(python: Path, wanted: Wanted) -> None:
    """Install with pip; SetupError if it fails."""
    pip = pip_for(python)
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
    """The calls of `pip install`: pip checks hashes of all that a call installs, or of nothing."""
    if wanted.lesson:
        yield ["--require-hashes", "--no-deps", "-r", str(HASHES)]
    yield wanted.arguments()


def _succeeds(*command: object, environment: Mapping[str, str] | None = None) -> bool:
    """Whether a quiet command ends with 0."""
    return _run(command, environment).returncode == 0


def _output(*command: object, environment: Mapping[str, str] | None = None) -> str:
    """What a command printed, on either stream."""
    done = _run(command, environment)
    return done.stdout + done.stderr


def _run(
    command: Iterable[object], environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
