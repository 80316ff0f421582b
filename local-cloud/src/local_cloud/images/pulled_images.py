"""The images that have been pulled: each is a folder with an environment and a description."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from local_cloud.engine.base import Base, Contents, own_only, server_folders
from local_cloud.errors import LocalCloudError
from local_cloud.images import table
from local_cloud.images.table import Image

ABOUT, BUILT = "image.json", "built.json"
ENVIRONMENT, COMMANDS = "environment", "commands"  # folders in the image's
FILES = "files"  # of a custom image: its file system, as far as it is known


@dataclass(frozen=True)
class PulledImage:
    """What was made for an image."""

    name: str
    python: str  # of the environment, in full
    image_python: str
    versions: dict[str, str]  # of the packages that the table names
    megabytes: int


@dataclass(frozen=True)
class BuiltImage:
    """A custom image: what its Dockerfile says."""

    uri: str
    base: str
    entrypoint: Sequence[str]
    arguments: Sequence[str]
    variables: dict[str, str]
    folder: str  # in which its command starts
    mounts: Sequence[str]  # its folders that hold what was copied


class PulledImages:
    """The folder with all of them; nothing is kept in memory, for any process may pull."""

    def __init__(self, folder: Path) -> None:
        """folder: it may not be there yet."""
        self.folder = folder

    def get(self, image: Image) -> PulledImage | None:
        """Return what was made for an image; None if it was not pulled."""
        return _read(self.folder / image.folder)

    def remove(self, image: Image) -> bool:
        """Remove an image's environment; whether there was one."""
        return _remove(self.folder / image.folder)

    def base_of(self, uri: str, own: Base) -> Base:
        """Return what jobs of an image stand on: its environment, else the server's packages."""
        if built := self.find_built(uri):
            return self._of_built(built, own)
        return self._of_prebuilt(uri, own)

    def _of_prebuilt(self, uri: str, own: Base) -> Base:
        image = table.find(uri)
        pulled = self.get(image) if image else None
        if image is None or pulled is None:
            return _not_pulled(uri, image, own)
        folder = self.folder / image.folder
        version = ".".join(pulled.python.split(".")[:2])
        environment = folder / ENVIRONMENT
        return Base(
            name=image.folder,
            python=environment / "bin/python",
            version=version,
            sites=(str(environment / f"lib/python{version}/site-packages"),),
            commands=(str(folder / COMMANDS),),
            unchanged=(str(folder), *server_folders()),
            note=_describe(uri, pulled),
        )

    def remove_built(self, uri: str) -> bool:
        """Forget a custom image; whether it was known."""
        return _remove(self.place(uri))

    def all_built(self) -> Iterator[str]:
        """Return the URIs of the custom images."""
        for path in sorted(self.folder.glob(f"built-*/{BUILT}")):
            if "." in path.parent.name:  # left by a process that was killed: half made or removed
                continue
            yield _document(path, BuiltImage)["uri"]

    def find_built(self, uri: str) -> BuiltImage | None:
        """Return what the Dockerfile of an image says; None for one that was not built here."""
        path = self.place(uri) / BUILT
        return BuiltImage(**_document(path, BuiltImage)) if path.exists() else None

    def place(self, uri: str) -> Path:
        """Return the folder for a custom image."""
        return self.folder / f"built-{hashlib.sha256(uri.encode()).hexdigest()[:16]}"

    def _of_built(self, built: BuiltImage, own: Base) -> Base:
        """Return the packages of the image that it begins with, and its own contents."""
        base = self._of_prebuilt(built.base, own)
        root = self.place(built.uri) / FILES
        contents = Contents(
            entrypoint=tuple(built.entrypoint),
            arguments=tuple(built.arguments),
            variables=built.variables,
            mounts={mount: root / mount.strip("/") for mount in built.mounts},
            folder=built.folder,
        )
        note = f"{built.uri} was built here: the files and the command of its Dockerfile"
        return replace(base, contents=contents, note=f"{note}; {base.note}")


def write(path: Path, about: PulledImage | BuiltImage) -> None:
    """Describe what was made, in a file."""
    path.write_text(json.dumps(asdict(about), indent=1), encoding="utf-8")


def _remove(folder: Path) -> bool:
    doomed = folder.with_name(f"{folder.name}.removed")
    shutil.rmtree(doomed, ignore_errors=True)
    try:
        folder.rename(doomed)  # at once, then file by file
    except FileNotFoundError:
        return False
    shutil.rmtree(doomed)
    return True


def _read(folder: Path) -> PulledImage | None:
    path = folder / ABOUT
    return PulledImage(**_document(path, PulledImage)) if path.exists() else None


def _document(path: Path, kind: type[PulledImage] | type[BuiltImage]) -> dict[str, Any]:
    """Read a description; LocalCloudError, with the way out, for one that is damaged."""
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
        whole = document.keys() == {each.name for each in fields(kind)}
    except (OSError, ValueError, AttributeError):
        whole = False
    if not whole:
        raise LocalCloudError(
            f"{path} is damaged: remove the folder {path.parent}, then pull or build the image"
            " again"
        )
    return document


def _describe(uri: str, pulled: PulledImage) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in pulled.versions.items())
    here = f"Python {pulled.python}"
    if not pulled.python.startswith(f"{pulled.image_python}."):
        here += f" (the image has {pulled.image_python}, which this machine lacked)"
    return f"{uri} was pulled as an environment: {here}, {versions}"


def _not_pulled(uri: str, image: Image | None, own: Base) -> Base:
    base = own_only(uri, own)
    if image is None:
        return base
    hint = f"`python -m local_cloud images pull {image.name}` makes its own environment"
    return replace(base, note=f"{base.note}; {hint}")
