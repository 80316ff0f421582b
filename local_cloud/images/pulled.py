"""The images that have been pulled: each is a folder with an environment and a description."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from local_cloud.engine.base import Base, own_only, server_folders
from local_cloud.images import table
from local_cloud.images.table import Image

ABOUT = "image.json"
ENVIRONMENT, COMMANDS = "environment", "commands"  # folders in the image's


@dataclass(frozen=True)
class Pulled:
    """What was made for an image."""

    name: str
    python: str  # of the environment, in full
    image_python: str
    versions: dict[str, str]  # of the packages that the table names
    megabytes: int


class PulledImages:
    """The folder with all of them; nothing is kept in memory, for any process may pull."""

    def __init__(self, folder: Path) -> None:
        """folder: it may not be there yet."""
        self.folder = folder

    def get(self, image: Image) -> Pulled | None:
        """Return what was made for an image; None if it was not pulled."""
        return _read(self.folder / image.folder)

    def all(self) -> Iterator[Pulled]:
        """Return all that were pulled."""
        yield from filter(None, map(self.get, table.IMAGES))

    def remove(self, image: Image) -> bool:
        """Remove an image's environment; whether there was one."""
        doomed = self.folder / f"{image.folder}.removed"
        shutil.rmtree(doomed, ignore_errors=True)
        try:
            (self.folder / image.folder).rename(doomed)  # at once, then file by file
        except FileNotFoundError:
            return False
        shutil.rmtree(doomed)
        return True

    def base_of(self, uri: str, own: Base) -> Base:
        """Return what jobs of an image stand on: its environment, else the server's packages."""
        image = table.find(uri)
        found = self.get(image) if image else None
        if image is None or found is None:
            return _not_pulled(uri, image, own)
        folder = self.folder / image.folder
        version = ".".join(found.python.split(".")[:2])
        environment = folder / ENVIRONMENT
        return Base(
            name=image.folder,
            python=environment / "bin/python",
            version=version,
            sites=(str(environment / f"lib/python{version}/site-packages"),),
            commands=(str(folder / COMMANDS),),
            unchanged=(str(folder), *server_folders()),
            note=_pulled(uri, found),
        )


def write(folder: Path, pulled: Pulled) -> None:
    """Describe what was made in a folder."""
    (folder / ABOUT).write_text(json.dumps(asdict(pulled), indent=1), encoding="utf-8")


def _read(folder: Path) -> Pulled | None:
    try:
        return Pulled(**json.loads((folder / ABOUT).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _pulled(uri: str, found: Pulled) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in found.versions.items())
    here = f"Python {found.python}"
    if not found.python.startswith(f"{found.image_python}."):
        here += f" (the image has {found.image_python}, which this machine lacked)"
    return f"{uri} was pulled as an environment: {here}, {versions}"


def _not_pulled(uri: str, image: Image | None, own: Base) -> Base:
    base = own_only(uri, own)
    if image is None:
        return base
    hint = f"`python -m local_cloud images pull {image.name}` makes its own environment"
    return replace(base, note=f"{base.note}; {hint}")
