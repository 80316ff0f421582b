"""What this machine has to give: cores, GPUs, ports on loopback."""

from __future__ import annotations

import os
import random
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from local_cloud.engine.spec import EngineError

FIRST, LAST = 10_000, 65_535  # below 10,000 live the ports that people type


def cores() -> int:
    """Return the cores that this process may use: its affinity, within a container's CPU quota."""
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(usable, _quota(Path("/sys/fs/cgroup/cpu.max"))))


def _quota(file: Path) -> int:
    """Return the whole cores of a version 2 control group ("max 100000" or "150000 100000")."""
    try:
        allowed, period = file.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return 1 << 16
    return 1 << 16 if allowed == "max" else int(allowed) // int(period)


def free_memory(group: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes of memory that are free, within a container's limit."""
    free: int = psutil.virtual_memory().available
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):  # there is no such group, or it has no limit ("max")
        return free
    return min(free, limit - used)


def gpus() -> tuple[int, ...]:
    """Return the NVIDIA GPUs of this machine by number; none where there is no `nvidia-smi`.

    CUDA_VISIBLE_DEVICES names those that this process may use, by number or by UUID.
    """
    try:
        done = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    # "GPU 0: NVIDIA H200 (UUID: GPU-…)", and indented lines for the parts of a divided one.
    lines = [line for line in done.stdout.splitlines() if line.startswith("GPU ")]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return tuple(range(len(lines)))
    numbers = {str(number): number for number in range(len(lines))}
    for number, line in enumerate(lines):
        if uuid := re.search(r"\(UUID: (.+)\)", line):
            numbers[uuid[1]] = number
    named = [name.strip() for name in visible.split(",")]
    return tuple(numbers[name] for name in named if name in numbers)


def ephemeral() -> tuple[int, int]:
    """Return the first and last port that the system itself hands to clients."""
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    except OSError:
        return 49_152, 65_535  # IANA's range, which macOS uses
    low, high = map(int, text.split())
    return low, high


def outside(low: int, high: int) -> list[int]:
    """Return the ports from 10,000 that are not in low … high.

    If there are none, return all from 10,000.
    """
    ports = [port for port in range(FIRST, LAST + 1) if not low <= port <= high]
    return ports or list(range(FIRST, LAST + 1))


def _free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a port whose last connections are fading is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Ports:
    """Hands out loopback ports, none twice until it is given back.

    They lie outside the range from which the system serves clients: such a port is still free
    when the replica gets round to using it. Two servers draw at random and so hardly collide.
    """

    def __init__(self) -> None:
        """Begin with all ports free."""
        self._candidates = outside(*ephemeral())
        self._taken: set[int] = set()

    def take(self) -> int:
        """Return a port that is free now; EngineError when there is none."""
        for port in self._draw():
            if port not in self._taken and _free(port):
                self._taken.add(port)
                return port
        raise EngineError("no port is free on 127.0.0.1: stop some of the programs that listen")

    def _draw(self) -> Iterator[int]:
        start = random.randrange(len(self._candidates))
        yield from self._candidates[start:]
        yield from self._candidates[:start]

    def give_back(self, ports: set[int]) -> None:
        """Free these again."""
        self._taken -= ports
