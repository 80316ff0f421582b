"""Code archives for a replica's PYTHONPATH, and what they say they need.

Nothing is built: an archive's Python files are put where they can be imported. A package that must
be compiled, or that maps its folders in its own way, is not served.
"""

from __future__ import annotations

import tempfile
from importlib import metadata
from pathlib import Path

from local_cloud.engine.environments import archives


def unpack(archive: Path, into: Path) -> Path:
    """Unpack an sdist (.tar.gz) or a wheel (.whl, .zip) into a new folder below `into`.

    Returns the folder for PYTHONPATH. Raises ArchiveError, and leaves nothing behind, for an
    archive that cannot be used.
    """
    into.mkdir(parents=True, exist_ok=True)
    # Not called after the archive: a name may hold a colon, at which PYTHONPATH is split.
    target = Path(tempfile.mkdtemp(prefix="", dir=into))
    target.rmdir()
    archives.extract(archive, target)
    return code_root(target)


def code_root(folder: Path) -> Path:
    """Return where a project's packages begin.

    That is below its only folder, and below `src` if it has that.
    """
    entries = list(folder.iterdir())
    # A wheel has its *.dist-info beside its packages, an sdist only the project's folder.
    if len(entries) == 1 and entries[0].is_dir() and not (entries[0] / "__init__.py").exists():
        folder = entries[0]
    source = folder / "src"
    return source if source.is_dir() and not (source / "__init__.py").exists() else folder


def requirements_of(folder: Path) -> list[str]:
    """Return what the project, whose folder `unpack` returned, says it needs.

    Return nothing if it says nothing.

    Read from its *.egg-info or *.dist-info, else from PKG-INFO; those of extras have a marker.
    """
    project = folder.parent if folder.name == "src" else folder
    described = [*folder.glob("*.egg-info"), *folder.glob("*.dist-info"), project]
    try:
        return list(metadata.PathDistribution(described[0]).requires or [])
    except (ValueError, KeyError, OSError) as problem:
        raise archives.ArchiveError(
            f"{described[0].name} does not say in UTF-8 what it needs ({problem}): make the archive"
            " again and send that"
        ) from problem
