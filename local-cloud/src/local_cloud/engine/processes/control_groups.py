"""A control group (cgroups, version 2) for the processes of each job, where the system allows one.

What a job's process starts is in the job's group, whatever session, environment or namespaces it
gives itself: reaper.py finds it by the group's name. The groups are made inside the server's own.
That needs a control group that belongs to this user: root has one, and so has a session of systemd
on a desktop; most containers have none.
"""

from __future__ import annotations

import functools
import secrets
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from local_cloud.engine import system
from local_cloud.engine.processes import reaper
from local_cloud.store import trees


@functools.cache
def own_group() -> Path | None:
    """Return the folder of this process's control group if groups can be made in it (cached)."""
    try:
        folder = _folder() if system.LINUX else None
        return folder if folder and _accepts(folder) else None
    except OSError:
        return None


def _folder() -> Path | None:
    """Return where this process's control group of version 2 is, if that is mounted."""
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    inside = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        # proc(5): "… root mountpoint … - type …"
        before, _, after = line.partition(" - ")
        root, mountpoint = before.split(" ")[3:5]
        if inside and after.startswith("cgroup2 ") and f"{inside}/".startswith(root):
            return Path(mountpoint, inside[len(root.rstrip("/")) :].strip("/"))
    return None


def _accepts(folder: Path) -> bool:
    """Return whether a process can be put into a new group there."""
    probe = folder / f"{reaper.PREFIX}probe-{secrets.token_hex(4)}"
    probe.mkdir()
    try:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
            _add(probe, process.pid)
            return probe.name in Path(f"/proc/{process.pid}/cgroup").read_text(encoding="utf-8")
    finally:
        probe.rmdir()


def _add(group: Path, pid: int) -> None:
    (group / "cgroup.procs").write_text(str(pid), encoding="ascii")


def make(marks: Mapping[str, str]) -> Path | None:
    """Make the group of these marks; its folder, or None if there can be none."""
    base = own_group()
    if base is None:
        return None
    group = base / reaper.group_name(reaper.entries(marks))
    with suppress(OSError):  # the system allows no more groups
        group.mkdir(exist_ok=True)
        return group
    return None


def add(pid: int, group: Path | None) -> None:
    """Put a process that has just started into a group.

    What it has started by then is not in the group: where a replica gets mounts, it joins the group
    itself before it begins (isolation/inside/launcher.py).
    """
    if group:
        with suppress(OSError):  # it has ended
            _add(group, pid)


def remove(marks: Mapping[str, str]) -> None:
    """Remove the group of these marks, and those that begin so; their processes have ended."""
    if base := own_group():
        name = reaper.group_name(reaper.entries(marks))
        for group in (base / name, *base.glob(f"{name}.*")):
            trees.remove_empty(group)
