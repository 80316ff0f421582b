"""Install into a job's environment what neither it nor the server's environment has yet.

uv does the installing, one package at a time as far as dependencies go: it does not see the
server's packages, so what is missing is worked out here.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from filelock import FileLock
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.engine.environments import archives, uv
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.engine.spec import EngineError

ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2")
LARGEST_PROJECT = 1 << 20  # bytes of a pyproject.toml
ITSELF = ("pip", "uv")  # asked to update itself, it is new enough


class InstallError(EngineError):
    """Something cannot be installed; the message says what, and what to do."""


@dataclass(frozen=True)
class Wish:
    """What one call of pip asks for."""

    targets: tuple[str, ...]  # requirements, archives, folders
    editable: tuple[str, ...] = ()  # those of the targets that are installed as links
    constraints: tuple[str, ...] = ()
    dependencies: bool = True
    folder: Path | None = None  # instead of the job's environment
    options: tuple[str, ...] = ()  # handed on to uv


@dataclass
class Installer:
    """Installs into the environment of a job."""

    environment: JobEnvironment
    variables: dict[str, str]  # of the process that runs uv
    said: list[str] = field(default_factory=list)  # lines on what was done

    def install(self, wish: Wish) -> list[str]:
        """Install all of it and what it needs; lines that say what was done. Or InstallError."""
        if wish.folder:
            _check_folder(wish.folder)
        # The replicas of a job install one after the other: the second finds all there.
        with FileLock(self.environment.folder / "lock"):
            named = deque[Requirement]()
            for target in wish.targets:
                if is_local(target):
                    named += self._install_local(target, wish)
                elif requirement := self._requirement(target, wish):
                    named.append(requirement)
            self._close(named, wish)
        return self.said

    def path(self, wish: Wish) -> list[str]:
        """Where what is installed is looked for."""
        return [*([str(wish.folder)] if wish.folder else []), *self.environment.path]

    def _requirement(self, target: str, wish: Wish) -> Requirement | None:
        """The requirement; None where it names no package, and was left to uv, or is pip."""
        try:
            found = Requirement(target)
        except InvalidRequirement:
            if "://" not in target:
                raise InstallError(f"{target!r} is not a requirement that can be read.") from None
            self._uv([target], wish)  # its cache may have it
            return None
        if canonicalize_name(found.name) in ITSELF:
            self.said.append(f"Requirement already satisfied: {target} (it is the local cloud's)")
            return None
        return found

    def _install_local(self, target: str, wish: Wish) -> Iterator[Requirement]:
        """Install an archive or a folder; what it needs."""
        name, _, extras = target.removeprefix("file://").partition("[")
        file = Path(name)
        if not file.exists():
            raise InstallError(f"{name} cannot be installed: there is no such file or folder")
        if file.is_file():
            archives.examine(file)  # uv would unpack whatever it is
        before = _found(self._installed_in(wish))
        editable = ["--editable"] if target in wish.editable else []
        self._uv([*editable, *self._build_options(file), str(file.resolve())], wish)
        for each in _found(self._installed_in(wish)) - before or {_project(file)}:
            if distribution := find(each.partition("==")[0], self._installed_in(wish)):
                yield from needs(distribution, extras.rstrip("]").split(","))

    def _installed_in(self, wish: Wish) -> list[str]:
        return [str(wish.folder or self.environment.packages)]

    def _build_options(self, file: Path) -> list[str]:
        """Build with the packages that are here, if these are all that it needs for that."""
        if file.suffix == ".whl" or any(map(self._lacks, build_requirements(file))):
            return []
        return ["--no-build-isolation"]

    def _lacks(self, requirement: Requirement) -> bool:
        return not satisfied(requirement, self.environment.path)

    def _close(self, wanted: deque[Requirement], wish: Wish) -> None:
        """Install those of the requirements that are not met, and what they need in turn."""
        limits = constrained(wish.constraints)
        seen: set[str] = set()
        while wanted:
            requirement = wanted.popleft()
            if str(requirement) in seen or not applies(requirement):
                continue
            seen.add(str(requirement))
            requirement.specifier &= limits.get(canonicalize_name(requirement.name), ANY)
            here = satisfied(requirement, self.path(wish))
            if here:
                self.said.append(f"Requirement already satisfied: {requirement}")
            else:
                self._uv([_text(requirement)], wish, requirement)
            if wish.dependencies:
                wanted += self._needed(requirement, not here, wish)

    def _needed(self, requirement: Requirement, fresh: bool, wish: Wish) -> Iterator[Requirement]:
        """What a requirement that is met needs; the server's own packages have what they need."""
        distribution = find(requirement.name, self.path(wish))
        if distribution and (requirement.extras or fresh):
            yield from needs(distribution, requirement.extras)

    def _uv(self, words: list[str], wish: Wish, missing: Requirement | None = None) -> None:
        where = ["--target", str(wish.folder)] if wish.folder else []
        command = ["install", "--python", str(self.environment.python), "--no-deps"]
        command += ["--link-mode=copy", *where, *wish.options, *words]
        try:
            said = uv.pip(command, self.variables)
        except uv.UvFailed as problem:
            raise InstallError(_sentence(words[-1], problem, missing, self.path(wish))) from None
        self.said += [
            f"Installed {line.strip()[2:]} for this job"
            for line in said.splitlines()
            if line.startswith(" + ")
        ]


ANY = SpecifierSet()


def is_local(target: str) -> bool:
    """Whether it is an archive's or a folder's path; as for pip, "torch" is never a folder."""
    name = target.partition("[")[0]
    if "://" in target or " @ " in target:
        return target.startswith("file://")
    return name.endswith(ARCHIVES) or os.sep in name or name.startswith(".")


def find(name: str, path: Sequence[str]) -> metadata.Distribution | None:
    """The installed package that is imported from this path; None if there is none."""
    return next(iter(metadata.distributions(name=name, path=list(path))), None)


def _found(path: Sequence[str]) -> set[str]:
    return {f"{each.name}=={each.version}" for each in metadata.distributions(path=list(path))}


def satisfied(requirement: Requirement, path: Sequence[str]) -> bool:
    """Whether what is installed there meets a requirement, but for its extras."""
    found = find(requirement.name, path)
    if found is None or requirement.url:
        return False
    return requirement.specifier.contains(found.version, prereleases=True)


def applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    """Whether a requirement's marker holds here, for one of these extras or for none."""
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def needs(distribution: metadata.Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    """What an installed package needs, with these extras."""
    wanted = list(extras)
    for text in distribution.requires or []:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            raise InstallError(
                f"{distribution.name} needs {text!r}, which is not a requirement that can be read"
            ) from None
        if applies(requirement, wanted):
            requirement.marker = None
            yield requirement


def constrained(constraints: Iterable[str]) -> dict[str, SpecifierSet]:
    """The versions that constraints allow, by the packages' names."""
    found: dict[str, SpecifierSet] = {}
    for text in constraints:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            raise InstallError(f"{text!r} is not a constraint that can be read.") from None
        name = canonicalize_name(requirement.name)
        found[name] = found.get(name, ANY) & requirement.specifier
    return found


def build_requirements(file: Path) -> list[Requirement]:
    """What a folder needs to be built; an archive is taken to need setuptools."""
    project = file / "pyproject.toml"
    wanted = ["setuptools"]
    if project.is_file():
        import tomllib

        try:
            wanted = tomllib.loads(files.read(project, LARGEST_PROJECT).decode())["build-system"][
                "requires"
            ]
        except (KeyError, TypeError):
            pass  # none said: setuptools
        except (ValueError, RecursionError, OverLimit) as problem:
            raise InstallError(f"{project} cannot be read: {problem}") from None
    return [Requirement(each) for each in wanted]


def _project(file: Path) -> str:
    """The name that an archive's file says."""
    return file.name.partition("-")[0]


def _text(requirement: Requirement) -> str:
    """The requirement for uv, which is not asked about extras, nor about markers again."""
    if requirement.url:
        return f"{requirement.name} @ {requirement.url}"
    return f"{requirement.name}{requirement.specifier}"


def _sentence(
    target: str, problem: uv.UvFailed, missing: Requirement | None, path: Sequence[str]
) -> str:
    """Why something cannot be installed, and what to do."""
    if missing is None or missing.url:
        if "://" not in target:
            return f"{Path(target).name} cannot be installed: {problem}"
        return (
            f"{target} would have to be fetched, and a local job has no network: send the package"
            " as an archive, or install it in the environment that the local cloud runs in"
        )
    here = find(missing.name, path)
    state = f"{missing.name} {here.version} is" if here else f"{missing.name} is not"
    command = [str(uv.program()), "pip", "install", "--python", sys.executable]
    once = f'{shlex.join(command)} --target "$(mktemp -d)" {shlex.quote(target)}'
    return (
        f"{missing} is required, and {state} installed here. A local job has no network, and uv's"
        f" cache does not hold it. To put it there, run once with a network: {once}"
    )


def _check_folder(folder: Path) -> None:
    """The job may write where it likes, but not into the server's environment."""
    there = folder.resolve()
    if any(there.is_relative_to(Path(each).resolve()) for each in (sys.prefix, sys.base_prefix)):
        raise InstallError(
            f"{folder} belongs to the environment that the local cloud runs in, which no job"
            " changes: choose another folder"
        )
