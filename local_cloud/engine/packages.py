"""Code archives for a replica's PYTHONPATH, and whether this environment has what they need.

Nothing is built and nothing is fetched: an archive's Python files are put where they can be
imported. A package that must be compiled, or that maps its folders in its own way, is not served.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement

from local_cloud.engine.spec import EngineError

# What tarfile and zipfile raise for a file that is none or is broken, each in its own way; the
# RuntimeError is a wheel that asks for a password or an unknown compression.
DAMAGED = (
    *(OSError, EOFError, ValueError, RuntimeError),
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error),
)


class PackageError(EngineError):
    """An archive cannot be used; the message says which and why."""


def unpack(archive: Path, into: Path) -> Path:
    """Unpack an sdist (.tar.gz) or a wheel (.whl, .zip) into a new folder below `into`.

    Returns the folder for PYTHONPATH. Raises PackageError, and leaves nothing behind, for a
    damaged archive and for one with a member that would land outside its folder.
    """
    into.mkdir(parents=True, exist_ok=True)
    # Not called after the archive: a name may hold a colon, at which PYTHONPATH is split.
    target = Path(tempfile.mkdtemp(prefix="", dir=into))
    try:
        if archive.suffix in (".whl", ".zip"):
            _unzip(archive, target)
        else:
            with tarfile.open(archive, "r:gz") as file:
                file.extractall(target, filter="data")
    except DAMAGED as problem:
        shutil.rmtree(target)
        raise PackageError(
            f"{archive.name} cannot be unpacked ({problem}): make the archive again and send that"
        ) from problem
    return code_root(target)


def _unzip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        for name in file.namelist():
            path = PurePosixPath(name.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts:
                raise ValueError(f"its member {name!r} would land outside its folder")
        file.extractall(target)


def code_root(folder: Path) -> Path:
    """Where a project's packages begin: below its only folder, and below `src` if it has that."""
    entries = list(folder.iterdir())
    # A wheel has its *.dist-info beside its packages, an sdist only the project's folder.
    if len(entries) == 1 and entries[0].is_dir() and not (entries[0] / "__init__.py").exists():
        folder = entries[0]
    source = folder / "src"
    return source if source.is_dir() and not (source / "__init__.py").exists() else folder


def requirements_of(folder: Path) -> list[str]:
    """What the project, whose folder `unpack` returned, says it needs; none if it says nothing.

    Read from its *.egg-info or *.dist-info, else from PKG-INFO; those of extras have a marker.
    """
    project = folder.parent if folder.name == "src" else folder
    described = [*folder.glob("*.egg-info"), *folder.glob("*.dist-info"), project]
    return list(metadata.PathDistribution(described[0]).requires or [])


def missing(requirements: Iterable[str]) -> list[str]:
    """A sentence for each requirement that this interpreter's environment does not meet.

    Markers are honoured (`; python_version < "3.9"`, `; extra == "test"`: nobody asked for
    extras); what a requirement's own extras would add is not looked at.
    """
    return [sentence for text in requirements if (sentence := _problem(text))]


def _problem(text: str) -> str | None:
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        return f"{text!r} is not a requirement that can be read."
    if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
        return None
    try:
        installed = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return f"{text} is required, and {wanted.name} is not installed here."
    if wanted.url:
        return f"{text} would have to be fetched; {wanted.name} {installed} is installed here."
    if wanted.specifier.contains(installed, prereleases=True):
        return None
    return f"{text} is required, and {wanted.name} {installed} is installed here."
