"""The `pip` of a job: it installs into the job's own environment, and without a network.

Runs in a process of the server's interpreter, whatever the job calls: `pip`, `python -m pip`,
`pip.main([…])`. uv installs; all else is pip's own work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local_cloud.engine.environments import installer
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.engine.spec import EngineError

OF_SERVER = ("HOME", "LANG", "PATH")  # variables that uv gets while the server runs it
VERBS = ("uninstall", "list", "freeze", "show", "check", "help")  # pip's own
WITH_FILE = (
    ("-r", "--requirement"),
    ("-c", "--constraint"),
    ("-e", "--editable"),
    ("-f", "--find-links"),
)
# pip's options that take a value and mean nothing here; those that take none need not be known.
WITH_VALUE = (
    "-i",
    "--index-url",
    "--extra-index-url",
    "--src",
    "--timeout",
    "--retries",
    "--proxy",
    "--trusted-host",
    "--cert",
    "--client-cert",
    "--cache-dir",
    "--log",
    "--progress-bar",
    "--upgrade-strategy",
    "--no-binary",
    "--only-binary",
    "--root-user-action",
    "--platform",
    "--python-version",
    "--implementation",
    "--abi",
    "--report",
    "--config-settings",
    "--exists-action",
    "--use-feature",
    "--use-deprecated",
    "--hash",
    "--root",
    "--python",
)


def main(folder: str) -> None:
    """`pip` as a job calls it; folder: the job's environment."""
    try:
        sys.exit(run(JobEnvironment.at(Path(folder)), sys.argv[1:]))
    except EngineError as problem:
        sys.exit(f"ERROR: {problem}")


def run(environment: JobEnvironment, words: list[str]) -> int:
    """Do what the words say; the exit code."""
    verb = next((word for word in words if not word.startswith("-")), "")
    if verb == "install":
        rest = list(words)
        rest.remove(verb)
        return install(environment, rest)
    if verb and verb not in VERBS:  # it might need a network
        raise EngineError(
            f"pip {verb} is not available in a local job: it can install, {', '.join(VERBS)}, and"
            " has no network"
        )
    # It sees what the job can import, and changes nothing outside the job's environment.
    pip = (sys.executable, "-I", "-m", "pip", "--python", str(environment.python))
    return subprocess.call([*pip, *words])


def install(environment: JobEnvironment, words: Sequence[str]) -> int:
    """`pip install`."""
    wish = parse_install(words, environment.base.version)
    if not wish.words:
        raise EngineError("pip install: say what to install")
    lines = installer.install(environment, wish, variables(environment))
    if not wish.quiet:
        print(*lines or ["Requirements already satisfied"], sep="\n")
    return 0


def install_and_report(environment: JobEnvironment, words: Sequence[str]) -> list[str]:
    """Install, as `pip install` with these words does; lines on what was not there already."""
    wish = parse_install(words, environment.base.version)
    return installer.install(environment, wish, variables(environment))


def variables(environment: JobEnvironment) -> dict[str, str]:
    """Return the variables of uv: this process's, with the settings of the server's user.

    The server's own may hold secrets, and uv runs the code of what it builds.
    """
    own = {name: text for name, text in os.environ.items() if not name.startswith("UV_")}
    if environment.apart:
        own = {name: own[name] for name in OF_SERVER if name in own}
    return own | environment.uv_variables() | {"UV_OFFLINE": "1"}


def parse_install(words: Sequence[str], version: str) -> installer.Wish:
    """Return what to install; version: of the Python that it is installed for."""
    parser = argparse.ArgumentParser("pip install", allow_abbrev=False, add_help=False)
    parser.add_argument("-q", "--quiet", action="count", default=0)
    parser.add_argument("-t", "--target", type=Path)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--no-deps", "--no-dependencies", action="store_true")
    for option in WITH_FILE:
        parser.add_argument(*option, action="append", default=[])
    for name in WITH_VALUE:
        parser.add_argument(name, action="append", dest="ignored")
    known, others = parser.parse_known_args(list(words))
    below = known.prefix and known.prefix / f"lib/python{version}/site-packages"
    return installer.Wish(
        targets=tuple(word for word in others if not word.startswith("-")),
        editable=tuple(known.editable),
        files=tuple(known.requirement),
        options=(
            *(f"--constraint={file}" for file in known.constraint),
            *(["--no-deps"] if known.no_deps else []),
        ),
        links=tuple(f"--find-links={link}" for link in known.find_links),
        folder=known.target or below,
        quiet=bool(known.quiet),
    )
