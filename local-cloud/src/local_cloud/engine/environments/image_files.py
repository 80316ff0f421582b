"""The files of an image, for one replica: as in a container, what it changes there is its alone."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from local_cloud.engine.base import Contents
from local_cloud.engine.spec import Replica

COPIES = ".image"  # in the replica's folder


def place_files(replica: Replica, contents: Contents, own: Path) -> Replica:
    """Return the replica with its image's files, variables and working directory; own: its folder.

    Files whose path is inside one of the replica's mounts, such as /opt/ml, go into that.
    """
    fresh: dict[str, Path] = {}
    folder = replica.folder
    for path, source in contents.mounts.items():
        around = next((at for at in replica.mounts if f"{path}/".startswith(f"{at}/")), None)
        if around:
            place = replica.mounts[around] / path.removeprefix(around).strip("/")
        else:
            place = fresh[path] = own / COPIES / path.strip("/")
        shutil.copytree(source, place, dirs_exist_ok=True)
        if f"{contents.folder}/".startswith(f"{path}/"):
            inner = place / contents.folder.removeprefix(path).strip("/")
            inner.mkdir(parents=True, exist_ok=True)
            folder = folder or inner
    return replace(
        replica,
        environment={**contents.variables, **replica.environment},
        mounts={**fresh, **replica.mounts},
        folder=folder,
    )
