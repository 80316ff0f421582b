"""The `pip` of a job: it installs into the job's own environment, and without a network.

Runs in a process of the server's interpreter, whatever the job calls: `pip`, `python -m pip`,
`pip.main([…])`. It needs no code of pip's own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

from packaging.utils import canonicalize_name

from local_cloud.engine.environments import requirement_files, uv
from local_cloud.engine.environments.installer import Installer, Wish, find, needs, satisfied
from local_cloud.engine.environments.job_environment import PIP_VERSION, JobEnvironment
from local_cloud.engine.spec import EngineError

# pip's options that take a value and mean nothing here; those that take none need not be known.
WITH_VALUE = (
    *("-i", "--index-url", "--extra-index-url", "--src", "--timeout", "--retries", "--proxy"),
    *("--trusted-host", "--cert", "--client-cert", "--cache-dir", "--log", "--progress-bar"),
    *("--upgrade-strategy", "--no-binary", "--only-binary", "--root-user-action", "--platform"),
    *("--python-version", "--implementation", "--abi", "--report", "--config-settings"),
    *("--exists-action", "--use-feature", "--use-deprecated", "--hash", "--root", "--python"),
)
WITH_FILE = ("-f", "--find-links")


def main(folder: str) -> None:
    """`pip` as a job calls it; folder: the job's environment."""
    environment = JobEnvironment.at(Path(folder))
    try:
        sys.exit(run(environment, sys.argv[1:]))
    except EngineError as problem:
        sys.exit(f"ERROR: {problem}")


def run(environment: JobEnvironment, words: list[str]) -> int:
    """Do what the words say; the exit code."""
    if {"--version", "-V"} & set(words):
        python = f"python {environment.base.version}"
        print(f"pip {PIP_VERSION} from {environment.packages / 'pip'} ({python})")
        return 0
    verb = next((word for word in words if not word.startswith("-")), "help")
    if verb not in VERBS:
        raise EngineError(
            f"pip {verb} is not available in a local job: it can {', '.join(VERBS)}, and has no"
            " network"
        )
    rest = list(words)
    rest.remove(verb)
    return VERBS[verb](environment, rest)


def install(environment: JobEnvironment, words: Sequence[str]) -> int:
    """`pip install`."""
    quiet, wish = parsed(words, environment.base.version)
    if not wish.targets:
        raise EngineError("pip install: say what to install")
    lines = installer(environment).install(wish)
    if not quiet:
        print(*lines, sep="\n")
    return 0


def installed(environment: JobEnvironment, words: Sequence[str]) -> list[str]:
    """Install, as `pip install` with these words does; lines on what was not there already."""
    lines = installer(environment).install(parsed(words, environment.base.version)[1])
    return [line for line in lines if line.startswith("Installed")]


def installer(environment: JobEnvironment) -> Installer:
    """What installs into a job's environment, from a process with the job's variables or ours."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("UV_")}
    return Installer(environment, own | environment.uv_variables())


def parsed(words: Sequence[str], version: str) -> tuple[bool, Wish]:
    """Whether to be quiet, and what to install; files of requirements are read.

    version: of the Python that it is installed for.
    """
    parser = argparse.ArgumentParser("pip install", allow_abbrev=False, add_help=False)
    parser.add_argument("-q", "--quiet", action="count", default=0)
    parser.add_argument("-t", "--target", type=Path)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--no-deps", "--no-dependencies", action="store_true")
    for option in (("-r", "--requirement"), ("-c", "--constraint"), ("-e", "--editable")):
        parser.add_argument(*option, action="append", default=[])
    parser.add_argument(*WITH_FILE, action="append", default=[], dest="links")
    for name in WITH_VALUE:
        parser.add_argument(name, action="append", dest="ignored")
    known, others = parser.parse_known_args(list(words))
    targets = [*known.editable, *(word for word in others if not word.startswith("-"))]
    for file in known.requirement:
        targets += requirement_files.read(Path(file))
    below = known.prefix and known.prefix / f"lib/python{version}/site-packages"
    return bool(known.quiet), Wish(
        targets=tuple(targets),
        editable=tuple(known.editable),
        constraints=tuple(
            line for file in known.constraint for line in requirement_files.read(Path(file))
        ),
        dependencies=not known.no_deps,
        folder=known.target or below,
        options=tuple(f"--find-links={link}" for link in known.links),
    )


def uninstall(environment: JobEnvironment, words: Sequence[str]) -> int:
    """`pip uninstall`: only what this job has installed goes."""
    parser = argparse.ArgumentParser("pip uninstall", allow_abbrev=False, add_help=False)
    parser.add_argument("-r", "--requirement", action="append", default=[])
    known, others = parser.parse_known_args(list(words))
    names = [word for word in others if not word.startswith("-")]
    names += [name for file in known.requirement for name in requirement_files.read(Path(file))]
    for name in names:
        if find(name, [str(environment.packages)]):
            python = str(environment.python)
            uv.pip(["uninstall", "--python", python, name], installer(environment).variables)
            print(f"Successfully uninstalled {name}")
        elif found := find(name, environment.path):
            print(f"Not uninstalling {found.name} {found.version}: it is not this job's own")
        else:
            print(f"WARNING: Skipping {name} as it is not installed.")
    return 0


def list_(environment: JobEnvironment, words: Sequence[str]) -> int:
    """`pip list`: all that the job can import, as a table, as JSON or as `pip freeze` does."""
    parser = argparse.ArgumentParser("pip list", allow_abbrev=False, add_help=False)
    parser.add_argument("--format", default="columns")
    known, _ = parser.parse_known_args(list(words))
    found = visible(environment)
    if known.format == "json":
        print(json.dumps([{"name": each.name, "version": each.version} for each in found]))
    elif known.format == "freeze":
        return freeze(environment, words)
    else:
        width = max(7, *(len(each.name) for each in found))
        print(f"{'Package':{width}} Version\n{'-' * width} -------")
        print(*(f"{each.name:{width}} {each.version}" for each in found), sep="\n")
    return 0


def freeze(environment: JobEnvironment, words: Sequence[str]) -> int:
    """`pip freeze`."""
    print(*(f"{each.name}=={each.version}" for each in visible(environment)), sep="\n")
    return 0


def show(environment: JobEnvironment, words: Sequence[str]) -> int:
    """`pip show`."""
    names = [word for word in words if not word.startswith("-")]
    found = {name: find(name, environment.path) for name in names}
    shown = []
    for each in filter(None, found.values()):
        required = ", ".join(requirement.name for requirement in needs(each, ()))
        facts = {
            "Name": each.name,
            "Version": each.version,
            "Summary": each.metadata.json.get("summary", ""),
            "Location": str(Path(str(each.locate_file("")))),
            "Requires": required,
        }
        shown.append("\n".join(f"{fact}: {text}" for fact, text in facts.items()))
    print(*shown, sep="\n---\n")
    if lost := [name for name, each in found.items() if each is None]:
        print(f"WARNING: Package(s) not found: {', '.join(lost)}", file=sys.stderr)
    return int(not shown)


def check(environment: JobEnvironment, words: Sequence[str]) -> int:
    """`pip check`: whether all that the job can import has what it needs."""
    problems = [
        f"{each.name} {each.version} requires {requirement}, which is not installed."
        for each in visible(environment)
        for requirement in needs(each, ())
        if not satisfied(requirement, environment.path)
    ]
    print(*problems or ["No broken requirements found."], sep="\n")
    return int(bool(problems))


def visible(environment: JobEnvironment) -> list[metadata.Distribution]:
    """All packages that the job can import, by name; of two versions the one that it gets."""
    found: dict[str, metadata.Distribution] = {}
    for each in metadata.distributions(path=environment.path):
        found.setdefault(canonicalize_name(each.name), each)
    return [found[name] for name in sorted(found)]


VERBS: dict[str, Callable[[JobEnvironment, Sequence[str]], int]] = {
    "install": install,
    "uninstall": uninstall,
    "list": list_,
    "freeze": freeze,
    "show": show,
    "check": check,
}
