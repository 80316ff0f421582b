"""Make the environment of an image: with uv, from the package index, once.

It is built in a folder beside its place and moved there when it is whole, so that an interrupted
pull leaves no half of one. One process at a time builds an image.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from filelock import FileLock, Timeout
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local_cloud.engine.environments import uv
from local_cloud.engine.environments.job_environment import write_scripts
from local_cloud.errors import LocalCloudError
from local_cloud.images import package_index
from local_cloud.images.pulled_images import (
    ABOUT,
    COMMANDS,
    ENVIRONMENT,
    PulledImage,
    PulledImages,
    write,
)
from local_cloud.images.table import READ, Image
from local_cloud.store.space import size

MB = 1_000_000
UNPACKED = 4  # times the size of its wheels, an environment's, its compiled files included
LOCK = "pylock.toml"  # the packages with versions, sizes and hashes; it stays in the image's folder
# On Linux XGBoost brings 200 MB for NVIDIA's cards, and works without (PyTorch does not): no
# version of Python is older than 0.
WITHOUT_CARD = 'nvidia-nccl-cu12 ; python_version < "0"\n'


class PullError(LocalCloudError):
    """An image cannot be pulled; the message says why, and what to do."""


def pull(image: Image, images: PulledImages, say: Callable[[str], None]) -> PulledImage:
    """Make the environment of an image, if it is not there; say: gets lines on what is done."""
    images.folder.mkdir(parents=True, exist_ok=True)
    with _alone(images.folder / f"{image.folder}.lock", say):
        if pulled := images.get(image):
            say(f"{image.name} was pulled already: {_what(pulled)}.")
            return pulled
        for left in images.folder.glob(f"{image.folder}.building-*"):  # by a pull that was killed
            shutil.rmtree(left)
        building = images.folder / f"{image.folder}.building-{os.getpid()}"
        begun = time.monotonic()
        try:
            made = _build(image, building, say)
            building.rename(images.folder / image.folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    say(f"Pulled {image.name} in {time.monotonic() - begun:.0f} s: {_what(made)}.")
    say("From now on, jobs and endpoints of this image run in it.")
    return made


def _alone(path: Path, say: Callable[[str], None]) -> FileLock:
    """Return the lock of an image, which the caller holds from now on."""
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        say("Another process pulls this image: waiting for it.")
        lock.acquire()
    return lock


def _what(pulled: PulledImage) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in pulled.versions.items())
    return f"Python {pulled.python}, {versions}; {pulled.megabytes} MB"


def _build(image: Image, folder: Path, say: Callable[[str], None]) -> PulledImage:
    """Build an image's environment in a folder, and describe it there."""
    say(f"{image.name}: Python {image.python} with {', '.join(image.packages)} (as of {READ})")
    folder.mkdir()
    environment = folder / ENVIRONMENT
    variables = package_index.settings()
    _make_environment(image, environment, variables=variables, say=say)
    python = environment / "bin/python"
    _resolve(image, folder, variables)
    sizes = _sizes(folder / LOCK)
    megabytes = round(sum(filter(None, sizes)) / MB)
    unknown = f", and {sizes.count(None)} of unknown size" if None in sizes else ""
    say(f"{len(sizes)} packages: {megabytes} MB{unknown}, less what uv's cache holds.")
    _require_space(folder, megabytes)
    words = ("install", "--python", str(python), "--link-mode=copy", "--preview-features=pylock")
    command = [str(uv.program()), "pip", *words, "-r", str(folder / LOCK)]
    if subprocess.run(command, env=variables).returncode:
        raise PullError(f"{image.name} cannot be pulled: uv's message is above")
    write_scripts(folder / COMMANDS, environment / "bin")
    made = PulledImage(
        name=image.name,
        python=_output(python, "-c", "import platform; print(platform.python_version())"),
        image_python=image.python,
        versions=_versions(image, folder / LOCK),
        megabytes=round(size(folder) / MB),
    )
    write(folder / ABOUT, made)
    return made


def _make_environment(
    image: Image, folder: Path, *, variables: Mapping[str, str], say: Callable[[str], None]
) -> None:
    """Make an empty environment, with the image's Python if uv finds it or can fetch it."""
    command = [str(uv.program()), "venv", "--relocatable", "--quiet", str(folder), "--python"]
    environment = {"UV_HTTP_RETRIES": "1", **variables}
    tried = subprocess.run([*command, image.python], env=environment, capture_output=True)
    if tried.returncode == 0:
        return
    here = ".".join(map(str, sys.version_info[:2]))
    say(f"Python {image.python} is not on this machine, and uv cannot fetch it: this is {here}.")
    subprocess.run([*command, sys.executable], env=environment, check=True)


def _resolve(image: Image, folder: Path, variables: Mapping[str, str]) -> None:
    """Choose the versions of all packages that the image needs, into LOCK."""
    program, python = str(uv.program()), str(folder / ENVIRONMENT / "bin/python")
    torch = next((each for each in image.packages if Requirement(each).name == "torch"), None)
    install = [program, "pip", "install", "--python", python]
    build = package_index.torch_build(install, torch, variables)
    if torch is None and not package_index.has_nvidia_card():
        (folder / "overrides.txt").write_text(WITHOUT_CARD, encoding="utf-8")
        build += ["--override", str(folder / "overrides.txt")]
    build += package_index.options(variables)
    words = ["--python", python, "--only-binary=:all:", *build, "--format=pylock.toml"]
    words += ["--preview-features=pylock", "--color=never", "-o", str(folder / LOCK)]
    done = subprocess.run(
        [program, "pip", "compile", "-", *words],
        input="\n".join(image.packages),
        env=dict(variables),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise PullError(
            f"{image.name} cannot be pulled: its packages cannot be had for this Python, or the"
            f" index cannot be reached. uv says:\n{done.stderr.strip()}"
        )


def _sizes(lock: Path) -> list[int | None]:
    """Return the bytes of each package's largest wheel for this machine.

    They are None where none is known.
    """
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["packages"]
    return [max(filter(None, map(_size, each["wheels"])), default=None) for each in packages]


def _size(wheel: Mapping[str, Any]) -> int | None:
    """Return the bytes of a wheel; None where the index does not say."""
    if wheel.get("url", "").startswith("file:"):
        return Path(unquote(urlsplit(wheel["url"]).path)).stat().st_size
    return wheel.get("size")


def _require_space(folder: Path, megabytes: int) -> None:
    free = shutil.disk_usage(folder).free // MB
    if free < UNPACKED * megabytes:
        raise PullError(
            f"it needs about {UNPACKED * megabytes} MB at {folder.parent}, and {free} MB are free:"
            " remove what you do not need (`python -m local_cloud images list` shows the images)"
        )


def _versions(image: Image, lock: Path) -> dict[str, str]:
    """Return the versions of the packages that the table names."""
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["packages"]
    versions = {package["name"]: package["version"] for package in packages}
    names = (canonicalize_name(Requirement(each).name) for each in image.packages)
    return {name: versions[name] for name in names}


def _output(*command: object) -> str:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
