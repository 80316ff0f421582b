"""Paths such as /gcs where nothing can be mounted: they are rewritten in arguments and environment.

Only a path that a program's code spells out is missed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from local_cloud.engine.spec import Replica


def rewritten(replica: Replica) -> Replica:
    """Return the replica as it is to be started where its mounts' paths do not exist."""
    return replace(
        replica,
        command=tuple(rewrite(word, replica.mounts) for word in replica.command),
        environment={
            name: rewrite(text, replica.mounts) for name, text in replica.environment.items()
        },
    )


BEFORE = r"(?:(?<=[\s=:,;\"'`(\[{<>|&])|^)"  # what may stand before a path's first slash
AFTER = r"(?=[/\s:,;\"'`)\]}<>|&]|$)"  # and after the mount's last letter


def rewrite(text: str, mounts: Mapping[str, Path]) -> str:
    """Return the text with each mount's path replaced by its folder, where it begins a path.

    `/gcs/b/x` and `--train=/gcs/b/x` change; `/mygcs/x`, `/gcsx` and `gs://gcs/x` do not.
    """
    if not mounts:
        return text
    longest_first = sorted(mounts, key=len, reverse=True)
    paths = "|".join(re.escape(path.rstrip("/")) for path in longest_first)
    folders = {path.rstrip("/"): str(folder) for path, folder in mounts.items()}
    return re.sub(f"{BEFORE}({paths}){AFTER}", lambda match: folders[match[1]], text)
