"""What the Python environment of a job stands on: an interpreter, and the packages it has."""

from __future__ import annotations

import os
import platform
import site
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import PathFinder
from pathlib import Path

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Contents:
    """What an image holds beside its packages, and what it starts."""

    entrypoint: tuple[str, ...]
    arguments: tuple[str, ...]  # of the entry point, for a job that gives none
    variables: Mapping[str, str]
    mounts: Mapping[str, Path]  # a folder of the image -> where it is on this machine
    folder: str  # of the image, in which its command starts


@dataclass(frozen=True)
class Base:
    """An interpreter with its packages; the server's own, or those of an image."""

    name: str  # of the image, as a file can be called; "" for the server's own
    python: Path
    version: str  # "3.11"
    sites: tuple[str, ...]  # the folders with the packages
    commands: tuple[str, ...]  # the folders with the packages' commands, as on PATH
    unchanged: tuple[str, ...]  # the folders that no job may change
    note: str = ""  # a line about it for the head of a log
    contents: Contents | None = None  # as far as they are known here

    def has(self, package: str) -> bool:
        """Return whether a package of this name can be imported there."""
        return PathFinder.find_spec(package, list(self.sites)) is not None

    def command(self, command: Sequence[str], arguments: Sequence[str]) -> tuple[str, ...]:
        """Return what a container starts that is given these; () if that is unknown here.

        A command takes the place of the image's entry point, arguments that of its arguments.
        """
        if command:
            return (*command, *arguments)
        if self.contents is None:
            return ()
        return (*self.contents.entrypoint, *(arguments or self.contents.arguments))

    @property
    def is_servers(self) -> bool:
        """Return whether it is the server's own interpreter."""
        return not self.name


# Given an image's URI and the server's own base: the base that jobs of this image stand on.
BaseOf = Callable[[str, Base], Base]


def own_only(image: str, own: Base) -> Base:
    """Have jobs of every image stand on the server's own packages, and say so."""
    note = f"{image} is named, not pulled; this is Python {platform.python_version()}"
    return replace(own, note=note)


def server_base(scripts: Path) -> Base:
    """Return the server's own; `scripts` is where the packages' commands were rewritten."""
    return Base(
        name="",
        python=Path(sys.executable),
        version=VERSION,
        sites=tuple(server_sites()),
        commands=(str(scripts), str(Path(sys.executable).parent)),
        unchanged=server_folders(),
    )


def server_folders() -> tuple[str, ...]:
    """Return the folders with what all jobs and the user share."""
    return (sys.prefix,) if sys.prefix != sys.base_prefix else tuple(server_sites())


def server_sites() -> list[str]:
    """Return the folders with the packages of this interpreter."""
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders = [site.getusersitepackages(), *folders]
    return [folder for folder in folders if os.path.isdir(folder)]
