"""A folder that a replica sees at a path such as /gcs, which this machine need not have."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from local_cloud.engine import system
from local_cloud.engine.base import server_folders
from local_cloud.engine.spec import Replica

LAUNCHER = Path(__file__).with_name("namespace.py")


def with_mounts(
    replica: Replica, read_only: Sequence[str], *, group: Path | None = None
) -> Replica:
    """Return the replica as it is to be started so that it finds the folders at its mounts' paths.

    In a mount namespace of its own where the machine allows one; elsewhere the paths in its
    arguments and environment are rewritten, and only a path that its code spells out is missed.

    group: the control group that it joins before it begins, where it gets a namespace.
    """
    mounts = replica.mounts
    if available():
        command = inside(
            replica.command, mounts, read_only=read_only, hosts=replica.hosts, group=group
        )
        return replace(replica, command=command)
    return replace(
        replica,
        command=tuple(rewrite(word, mounts) for word in replica.command),
        environment={name: rewrite(text, mounts) for name, text in replica.environment.items()},
    )


def inside(
    command: tuple[str, ...],
    mounts: Mapping[str, Path],
    *,
    read_only: Sequence[str] = (),
    hosts: Sequence[str] = (),
    group: Path | None = None,
) -> tuple[str, ...]:
    """Return the command that runs `command`, in the same process, where the mounts are to be seen.

    read_only: folders that it cannot change; hosts: names that stand for loopback there.
    """
    places = {path: str(folder) for path, folder in mounts.items()}
    words = (json.dumps(places), json.dumps(list(read_only)), json.dumps(list(hosts)))
    return (sys.executable, "-I", "-S", str(LAUNCHER), str(group or ""), *words, *command)


@functools.cache
def available() -> bool:
    """Return whether this machine lets a replica have a mount namespace (asked once, about 50 ms).

    Containers, seccomp, AppArmor and kernel settings refuse it in different ways and at
    different calls; so it is tried.
    """
    if not system.LINUX:
        return False
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "proof").write_text("seen", encoding="ascii")
        seen = {"/gcs-probe/deep": Path(folder)}
        command = inside(("cat", "/gcs-probe/deep/proof"), seen, read_only=server_folders())
        try:
            tried = subprocess.run(command, capture_output=True, timeout=10, check=False)
        except (OSError, subprocess.SubprocessError):
            return False
    return tried.stdout == b"seen"


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
    return re.sub(f"{BEFORE}({paths}){AFTER}", lambda found: folders[found[1]], text)
