"""The wheels of source distributions, built once: an SDK packs the same code anew for every job.

They are found by what a distribution holds, and by the Python that they were built for. A job gets
a copy: so the oldest can be removed at any time, and what a job does to its copy harms no other.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from local_cloud.engine.environments import archives, uv
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.store import trees

SOURCES = (".zip", ".tar.gz", ".tgz")  # what uv builds a wheel of
MOST = 200_000_000  # bytes of all that are kept
NEW = ".new-"  # so begin the names of folders in which a wheel is being built


def wheel_of(archive: Path, environment: JobEnvironment, variables: Mapping[str, str]) -> Path:
    """Return the wheel of a source distribution, in the environment's folder.

    variables: of the process that runs uv, if it has to be built first. Raises ArchiveError,
    UvFailed, or OSError if there is no room for it.
    """
    assert environment.wheels
    key = f"{archives.fingerprint(archive)} {environment.base.python} {environment.base.version}"
    name = hashlib.sha256(key.encode()).hexdigest()
    kept, own = environment.wheels / name, environment.folder / "wheels" / name
    if wheel := _copy(own, own) or _copy(kept, own):
        return wheel
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=NEW, dir=kept.parent))
    try:
        _build(archive, new, environment=environment, variables=variables)
        wheel = _copy(new, own)
        with suppress(OSError):  # another job was first
            new.rename(kept)
    finally:
        trees.remove(new)
    _remove_oldest(kept.parent)
    if not wheel:
        raise uv.UvFailed(f"error: {archive.name} has no wheel")
    return wheel


def _copy(source: Path, target: Path) -> Path | None:
    """Return the copy of a folder's wheel in another folder; None if there is no wheel."""
    wheel = next(source.glob("*.whl"), None)
    if wheel is None or source == target:
        return wheel
    target.mkdir(parents=True, exist_ok=True)
    part = target / f"{wheel.name}.part"
    try:
        shutil.copyfile(wheel, part)
        os.utime(source)  # the last that was used is the last to be removed
    except FileNotFoundError:  # it is being removed
        return None
    return part.replace(target / wheel.name)


def _build(
    archive: Path, into: Path, *, environment: JobEnvironment, variables: Mapping[str, str]
) -> None:
    python, source = str(environment.base.python), archive.absolute()
    words = ["--wheel", "--python", python, "--out-dir", str(into), str(source)]
    apart = environment.apart and replace(environment.apart, shown=[source], shared=[into])
    try:
        uv.build(words, variables, apart)
    except uv.UvFailed as problem:
        if not problem.in_build:
            raise
        # uv's cache may lack what builds a package, and the base may have it
        uv.build(["--no-build-isolation", *words], variables, apart)


def _remove_oldest(folder: Path) -> None:
    """Remove the wheels that were not used for the longest time, until the rest has room."""
    used = []
    for entry in folder.iterdir():
        with suppress(FileNotFoundError):  # another job removes it
            size = sum(wheel.stat().st_size for wheel in entry.iterdir())
            used.append((entry.stat().st_mtime, size, entry))
    total = 0
    for _, size, entry in sorted(used, reverse=True):
        total += size
        if total > MOST:
            trees.remove(entry)
