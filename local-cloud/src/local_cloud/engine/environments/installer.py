"""Install packages into a job's environment with uv.

uv sees the packages of one environment, and a job's stands on another one. So it first resolves all
requirements at once, against the packages that the job can import: those stay where they fit, and
uv says which requirements conflict. Then it installs what is missing, into the job's environment.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from filelock import FileLock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.engine.environments import archives, uv, wheels
from local_cloud.engine.environments.job_environment import EXCLUDED, JobEnvironment
from local_cloud.engine.spec import EngineError

ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2")
LARGEST = 1 << 20  # bytes of a file of requirements
ABOUT = "*.dist-info"  # the folder with a package's description
AFTER = re.compile(
    r"(^|\s)(#|--hash|--config-settings).*$"
)  # what a requirement in a file may have
FRESH = ("+ ", "~ ")  # before what uv installs, or installs again
# What uv has to know about a package: what it requires, and from which file it was installed.
DESCRIPTION = ("METADATA", "direct_url.json", "uv_cache.json")


class InstallError(EngineError):
    """Packages cannot be installed; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Wish:
    """What one call of pip asks for."""

    targets: tuple[str, ...] = ()  # requirements, archives, folders
    editable: tuple[str, ...] = ()  # folders that are installed as links
    files: tuple[str, ...] = ()  # of requirements
    options: tuple[str, ...] = ()  # for uv, on what it resolves
    links: tuple[str, ...] = ()  # for uv, on where it finds packages
    folder: Path | None = None  # instead of the job's environment
    quiet: bool = False

    @property
    def words(self) -> list[str]:
        """Return what is asked for, as words of pip and of uv."""
        files = [word for file in self.files for word in ("-r", file)]
        return [*self.targets, *(f"--editable={each}" for each in self.editable), *files]


def install(environment: JobEnvironment, wish: Wish, variables: Mapping[str, str]) -> list[str]:
    """Install what is not there yet; return a line for each package and for each conflict.

    variables: of the process that runs uv. Raises InstallError.
    """
    if wish.folder:
        _check_folder(wish.folder)
    for archive in _archives(wish):
        archives.fingerprint(archive)  # uv would unpack whatever it is
    # The replicas of a job install one after the other: the second finds all there.
    with FileLock(environment.folder / "lock"):
        try:
            built = _with_wheels(environment, wish, variables)
            changes = _resolve(environment, built, variables)
            wanted = [_word(line, built) for line in changes if line.startswith(FRESH)]
            if not wanted:
                return []
            done = _build(environment, wish, variables=variables, words=wanted)
        except uv.UvFailed as problem:
            raise InstallError(_sentence(environment, wish, problem)) from None
    for target, wheel in zip(wish.targets, built.targets, strict=True):
        done = [line.replace(_uri(wheel), _uri(target)) for line in done]
    installed = [f"Installed {line[2:]} for this job" for line in done if line.startswith(FRESH)]
    gets = dict(line[2:].partition(" ")[0].split("==") for line in done if line.startswith(FRESH))
    lost = {line[2:].partition("==")[0] for line in changes if line.startswith("- ")}
    return [*installed, *_find_conflicts(environment, {name: gets[name] for name in lost})]


def _with_wheels(environment: JobEnvironment, wish: Wish, variables: Mapping[str, str]) -> Wish:
    """Return the wish with a wheel in the place of each source distribution on this machine."""
    if not environment.wheels or wish.links:  # what builds a distribution may be behind a link
        return wish
    targets = []
    for target in wish.targets:
        name, bracket, extras = target.partition("[")
        archive = Path(name.removeprefix("file://"))
        if archive.name.endswith(wheels.SOURCES) and archive.is_file():
            # What cannot be built is left to the installation, which says why.
            with suppress(uv.UvFailed, OSError):
                wheel = wheels.wheel_of(archive, environment, variables)
                target = f"{wheel}{bracket}{extras}"
        targets.append(target)
    return replace(wish, targets=tuple(targets))


def _uri(target: str) -> str:
    """Return what uv calls an archive on this machine."""
    return Path(target.removeprefix("file://").partition("[")[0]).absolute().as_uri()


def _resolve(environment: JobEnvironment, wish: Wish, variables: Mapping[str, str]) -> list[str]:
    """Return what would change: `+ name==version`, `- name==version`, a line each."""
    path = [*([str(wish.folder)] if wish.folder else []), *environment.path]
    with _show_packages(environment, path) as where:
        words = ["--dry-run", "--excludes", str(environment.folder / EXCLUDED)]
        words = [*where, *words, *wish.options, *wish.links, *wish.words]
        return _install(environment, variables, words)


def _build(
    environment: JobEnvironment, wish: Wish, *, variables: Mapping[str, str], words: list[str]
) -> list[str]:
    """Install what was resolved; return a line for each change."""
    where = ["--python", str(environment.python), "--link-mode=copy"]
    where += ["--target", str(wish.folder)] if wish.folder else []
    return _install(environment, variables, [*where, "--no-deps", *wish.links, *words])


def _word(change: str, wish: Wish) -> str:
    """Return, for uv, what it said that it would install: a version, or what is at a URL."""
    name, _, version = change[2:].partition("==")
    requirement = change[2:]
    if " (from " in version:  # of what is installed again
        requirement = f"{name} @ {version.partition(' (from ')[2].rstrip(')')}"
    for folder in wish.editable:
        if requirement.endswith(f" @ {Path(folder.partition('[')[0]).resolve().as_uri()}"):
            return f"--editable={folder}"
    return requirement


def _install(
    environment: JobEnvironment, variables: Mapping[str, str], words: list[str]
) -> list[str]:
    """Return the lines of uv; UvFailed if it failed."""
    apart = environment.apart
    try:
        said = uv.pip(["install", *words], variables, apart)
    except uv.UvFailed as problem:
        if not problem.in_build:
            raise
        try:  # uv's cache may lack what builds a package, and the base may have it
            said = uv.pip(["install", "--no-build-isolation", *words], variables, apart)
        except uv.UvFailed:
            raise problem from None
    return [line.strip() for line in said.splitlines()]


@contextmanager
def _show_packages(environment: JobEnvironment, path: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words with which uv sees all packages on a path, in order to change none of them.

    It knows an interpreter's own packages. For others it gets a folder with their descriptions.
    """
    folders = [folder for folder in path if next(Path(folder).glob(ABOUT), None)]
    python = ["--python", str(environment.base.python)]
    if len(folders) == 1 and folders == [*environment.base.sites]:
        yield python
        return
    with tempfile.TemporaryDirectory(dir=environment.folder) as view:
        names = set[str]()
        for about in (about for folder in folders for about in Path(folder).glob(ABOUT)):
            name = canonicalize_name(about.name.partition("-")[0])
            if name not in names:  # else it is hidden by one that is earlier on the path
                names.add(name)
                _describe(about, Path(view) / about.name)
        yield [*python, "--target", view]


def _describe(about: Path, description: Path) -> None:
    description.mkdir()
    for name in DESCRIPTION:
        if (about / name).exists():
            (description / name).symlink_to(about / name)


def _find_conflicts(environment: JobEnvironment, replaced: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each package of the base that requires another version than it gets.

    replaced: the versions that it gets, by the packages' names.
    """
    variables = {"extra": "", "python_version": environment.base.version}
    for each in metadata.distributions(path=[*environment.base.sites]) if replaced else ():
        for requirement in map(Requirement, each.requires or ()):
            if requirement.marker and not requirement.marker.evaluate(variables):
                continue
            version = replaced.get(canonicalize_name(requirement.name))
            if version and not requirement.specifier.contains(version, prereleases=True):
                yield (
                    f"{each.name} {each.version} requires {requirement}, but this job gets"
                    f" {requirement.name} {version}"
                )


def _archives(wish: Wish) -> Iterator[Path]:
    """Return the archives on this machine that are named, here or in a file of requirements."""
    for line in _requirements(wish):
        path = Path(line.removeprefix("file://").partition("[")[0])
        if path.name.endswith(ARCHIVES) and path.is_file():
            yield path


def _requirements(wish: Wish) -> list[str]:
    """Return what is named, here or in a file; InstallError if a file cannot be read."""
    lines = list(wish.targets)
    for name in wish.files:
        try:
            content = files.read(Path(name), LARGEST)
        except (OSError, OverLimit) as problem:
            raise InstallError(f"{name} cannot be read: {problem}") from None
        encoding = "utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8"
        text = content.decode(encoding, errors="replace")
        lines += [AFTER.sub("", line).strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("-")]


def _sentence(environment: JobEnvironment, wish: Wish, problem: uv.UvFailed) -> str:
    """Say what cannot be installed, why, and what to do."""
    named = [*wish.targets, *wish.editable, *(Path(file).name for file in wish.files)]
    sentence = f"{', '.join(named)} cannot be installed: {problem}"
    if not problem.lacks_network:
        return sentence
    command = [sys.executable, "-m", f"{__package__}.fetch", str(environment.base.python)]
    # Where it is run, a job's file of requirements may have another path.
    words = [*wish.options, *wish.links, *wish.editable, *_requirements(wish)]
    return (
        f"{sentence.rstrip('.')}. A local job has no network, and takes packages from uv's cache."
        f" To put them there, run once with a network: {shlex.join([*command, *words])}"
    )


def _check_folder(folder: Path) -> None:
    """Refuse a folder of the server's environment; the job may write anywhere else."""
    there = folder.resolve()
    if any(there.is_relative_to(Path(each).resolve()) for each in (sys.prefix, sys.base_prefix)):
        raise InstallError(
            f"{folder} belongs to the environment that the local cloud runs in, which no job"
            " changes: choose another folder"
        )
