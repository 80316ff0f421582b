"""The private network that all replicas of a job share.

On the real services the replicas of a job have a network to which nobody else has access. Here,
where the machine allows it (network_namespace.py), they share a loopback of their own. Two ports
lead out of it: one is the server's, which takes the connections itself, and the other is a proxy
for HTTP and HTTPS (http_proxy.py). Elsewhere the replicas use the machine's loopback.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Protocol

from local_cloud.engine import system
from local_cloud.engine.isolation import http_proxy
from local_cloud.engine.isolation.network import LAUNCHER
from local_cloud.engine.spec import EngineError

SECONDS = 30.0  # for a network to be made
MOST = 8  # descriptors that are sent out: listeners, and at most two namespaces
PROXY = 3128  # the port of the proxy, in each network
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
# What a program prints that reaches no host, and what to tell its owner.
UNREACHED = re.compile(
    "connection refused|network is unreachable|name resolution|name or service not known",
    re.IGNORECASE,
)
WHY = (
    "local cloud: the replicas of this job share a private network: they reach each other and the"
    " local cloud on 127.0.0.1, and other hosts over HTTP and HTTPS only, through the proxy in"
    " HTTPS_PROXY. If the script needs another connection, run the job with one replica"
)


class Door(Protocol):
    """How the processes of a job reach the server."""

    port: int  # the server's

    async def admit(self, listener: socket.socket) -> asyncio.Server:
        """Have the server take the connections of this listener too, until it is closed."""


class JobNetwork:
    """A network, from its making to the end of an attempt."""

    variables: Mapping[str, str] = dict.fromkeys(PROXIES, f"http://127.0.0.1:{PROXY}")

    def __init__(self, door: Door | None) -> None:
        """door: the server's, if there is one."""
        self._door = door
        self._servers: list[asyncio.Server] = []
        self._proxy = http_proxy.Proxy()
        self.fds: tuple[int, ...] = ()  # its namespaces, in the order in which they are entered

    async def open(self) -> None:
        """Make the network and serve its ways out; EngineError if it cannot be made."""
        ports = [PROXY, *([self._door.port] if self._door else [])]
        try:
            fds = await asyncio.to_thread(_make, ports)
        except (OSError, subprocess.SubprocessError) as problem:
            raise EngineError(
                f"the private network of the replicas cannot be made: {problem}"
            ) from problem
        self.fds = fds[len(ports) :]
        listeners = [socket.socket(fileno=number) for number in fds[: len(ports)]]
        self._servers.append(await asyncio.start_server(self._proxy.serve, sock=listeners[0]))
        if self._door:
            self._servers.append(await self._door.admit(listeners[1]))

    def inside(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that runs `command` in this network, in the same process."""
        return (sys.executable, "-I", "-S", str(LAUNCHER), "enter", json.dumps(self.fds), *command)

    def close(self) -> None:
        """Close the ways out; the network ends with the last of its processes."""
        for server in self._servers:
            server.close()
        self._proxy.close()
        for number in self.fds:
            os.close(number)
        self._servers, self.fds = [], ()


def _make(ports: list[int]) -> tuple[int, ...]:
    """Make a network; return its listeners on these ports and its namespaces."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(SECONDS)
        words = ("make", str(theirs.fileno()), json.dumps(ports))
        subprocess.run(
            (sys.executable, "-I", "-S", str(LAUNCHER), *words),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
        _, fds, _, _ = socket.recv_fds(ours, 1, MOST)
    return tuple(fds)


@functools.cache
def available() -> bool:
    """Return whether this machine lets a job have a private network (tried once, about 50 ms)."""
    if not system.LINUX:
        return False
    network = JobNetwork(None)
    try:
        network.fds = _make([])
        command, fds = network.inside(("true",)), network.fds
        tried = subprocess.run(
            command, pass_fds=fds, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        network.close()
    return tried.returncode == 0
