"""Make a custom image known: its files and its command, from a Dockerfile, without Docker.

Jobs of the image then start its command, and find its files at their paths. No RUN is run: the
packages are those of the prebuilt image that the Dockerfile begins with, if that was pulled, else
the local cloud's own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from local_cloud.images import dockerfile
from local_cloud.images.dockerfile import Dockerfile, DockerfileError
from local_cloud.images.pulled_images import BUILT, FILES, BuiltImage, PulledImages, write


def build(
    uri: str,
    path: Path,
    *,
    images: PulledImages,
    say: Callable[[str], None],
    context: Path | None = None,
) -> BuiltImage:
    """Make an image known under a URI.

    context: the folder of the files that it copies; that of the Dockerfile if it is not given.
    say: gets lines.
    """
    read = dockerfile.read(path)
    if not read.entrypoint and not read.arguments:
        raise DockerfileError(
            f'{path} says nothing of what to start: add ENTRYPOINT ["python", "…"]'
        )
    images.folder.mkdir(parents=True, exist_ok=True)
    place = images.place(uri)
    building = place.with_name(f"{place.name}.building-{os.getpid()}")
    with FileLock(f"{place}.lock"):
        try:
            for left in images.folder.glob(f"{place.name}.building-*"):  # by one that was killed
                shutil.rmtree(left)
            _copy(read, (context or path.parent).resolve(), building / FILES)
            built = BuiltImage(
                uri=uri,
                base=read.base,
                entrypoint=read.entrypoint,
                arguments=read.arguments,
                variables=read.variables,
                folder=read.folder,
                mounts=_mounts(read, building / FILES),
            )
            write(building / BUILT, built)
            shutil.rmtree(place, ignore_errors=True)
            building.rename(place)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    for line in read.not_run:
        say(f"Not run: {line}")
    say(f"Jobs of {uri} start: {' '.join((*built.entrypoint, *built.arguments))}")
    return built


def _copy(read: Dockerfile, context: Path, root: Path) -> None:
    root.mkdir(parents=True)
    for sources, target in read.copies:
        place = root / target.strip("/")
        for source in sources:
            name = source.strip("/")
            chosen = [context]
            if name not in ("", "."):
                chosen = [path for path in context.glob(name) if _inside(path, context)]
            if not chosen:
                raise DockerfileError(f"COPY {source}: there is no such file in {context}")
            for path in chosen:
                if path.is_dir():  # as Docker does: what is in it
                    shutil.copytree(path, place, dirs_exist_ok=True, ignore=_not_code)
                else:
                    own = place / path.name if target.endswith("/") else place
                    own.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, own)


def _not_code(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in ("__pycache__", ".git") or name.startswith(".venv")]


def _inside(path: Path, context: Path) -> bool:
    return path.resolve().is_relative_to(context)


def _mounts(read: Dockerfile, root: Path) -> list[str]:
    """Return the folders of the image that its replicas have to see; none is inside another."""
    whole = {target.rstrip("/") for _, target in read.copies}
    targets = {one if (root / one.strip("/")).is_dir() else str(Path(one).parent) for one in whole}
    outermost = [
        one for one in targets if not any(one.startswith(f"{other}/") for other in targets)
    ]
    for one in outermost:
        if one in ("", "/") or (one.count("/") == 1 and Path(one).exists()):
            raise DockerfileError(
                f"COPY to {one or '/'}: that folder would hide this machine's own; copy to a"
                " folder below it, such as /opt/app"
            )
    return sorted(outermost)
