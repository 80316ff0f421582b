"""Read a Dockerfile, as far as an image's files, variables and command are in it."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from local_cloud.errors import LocalCloudError

SHELL = ("/bin/sh", "-c")
# Instructions that change nothing here: there is no container, and every port is this machine's.
WITHOUT_EFFECT = ("EXPOSE", "LABEL", "USER", "VOLUME", "STOPSIGNAL", "HEALTHCHECK", "MAINTAINER")
VARIABLE = re.compile(r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))")


class DockerfileError(LocalCloudError):
    """A Dockerfile cannot be used here; the message says which line, and why."""


@dataclass
class Dockerfile:
    """What one says."""

    base: str = ""  # the image that it begins with
    copies: list[tuple[list[str], str]] = field(default_factory=list)  # sources, an absolute target
    variables: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    not_run: list[str] = field(default_factory=list)


def read(path: Path) -> Dockerfile:
    """Read a Dockerfile of one stage; DockerfileError for what cannot be followed."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise DockerfileError(f"{path}: {problem.strerror}") from None
    file, defaults = Dockerfile(), dict[str, str]()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            name, *rest = line.split(None, 1)
            try:
                _follow(name.upper(), "".join(rest).strip(), file=file, defaults=defaults)
            except (ValueError, LookupError):  # an open quote, a list that is none, nothing at all
                raise DockerfileError(f"{path}: {line.strip()!r} cannot be read") from None
    if not file.base:
        raise DockerfileError(f"{path} has no FROM")
    return file


def _follow(name: str, rest: str, *, file: Dockerfile, defaults: dict[str, str]) -> None:
    """Take in one instruction; defaults: of the ARGs so far."""
    known = defaults | file.variables
    if name == "FROM":
        if file.base:
            raise DockerfileError(
                "a Dockerfile of several stages (FROM twice) is not followed here"
            )
        image = [word for word in rest.split() if not word.startswith("--")]  # not --platform=…
        file.base = _substitute(image[0], known) if image else ""
    elif name == "ARG":
        argument, _, default = rest.partition("=")
        defaults[argument] = "".join(shlex.split(default))  # without its quotes
    elif name == "ENV":
        file.variables |= _assignments(rest, known)
    elif name == "WORKDIR":
        file.folder = posixpath.normpath(
            posixpath.join(file.folder, _substitute(rest.strip(), known))
        )
    elif name in ("COPY", "ADD"):
        file.copies.append(_parse_copy(name, _substitute(rest, known), file))
    elif name == "ENTRYPOINT":
        file.entrypoint = _words(rest)  # which resets the CMD of the base, not this file's
    elif name == "CMD":
        file.arguments = _words(rest)
    elif name not in WITHOUT_EFFECT:
        file.not_run.append(f"{name} {' '.join(rest.split())}")


def _substitute(text: str, known: dict[str, str]) -> str:
    return VARIABLE.sub(lambda match: known.get(match[1] or match[3]) or match[2] or "", text)


def _assignments(rest: str, known: dict[str, str]) -> dict[str, str]:
    """Return the variables of ENV; a PATH names folders of the image, which are not here."""
    if "=" not in rest.split()[0]:  # the older form: one name, then its value
        name, _, value = rest.partition(" ")
        pairs = [(name, value)]
    else:
        pairs = [(word.partition("=")[0], word.partition("=")[2]) for word in shlex.split(rest)]
    return {name: _substitute(value, known) for name, value in pairs if name != "PATH"}


def _parse_copy(name: str, rest: str, file: Dockerfile) -> tuple[list[str], str]:
    """Return the sources, and the target: with a slash at its end, a folder."""
    if "--from=" in rest or "://" in rest:
        raise DockerfileError(f"{name} {rest}: only files beside the Dockerfile are copied here")
    words = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    *sources, target = [word for word in words if not word.startswith("--")]
    if not sources:
        raise DockerfileError(f"{name} {rest}: a source and a target are needed")
    whole = posixpath.normpath(posixpath.join(file.folder, target))
    is_folder = target.endswith(("/", ".")) or f"{file.folder}/".startswith(f"{whole}/")
    return sources, f"{whole}/" if is_folder else whole


def _words(rest: str) -> tuple[str, ...]:
    """Return the words of a command: a JSON list, else a line for the shell."""
    try:
        words = json.loads(rest)
        return tuple(map(str, words))
    except (ValueError, TypeError):
        return (*SHELL, rest)
