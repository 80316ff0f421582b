"""How the server reaches a served replica, and nobody else does.

Where the machine allows it, each replica has a network of its own
(inside/network_namespace.py): the server gets sockets of that network over a Unix socket that only
the two have, and a replica reaches this machine's ports only as far as the server passes its bytes
on. Elsewhere a replica listens on a free port of loopback, where other users of the machine can
connect to it too.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from local_cloud.engine import system
from local_cloud.engine.isolation.http_proxy import pass_on
from local_cloud.engine.machine import Ports

LAUNCHER = Path(__file__).parent / "inside" / "network_namespace.py"
ENTERING = 30.0  # seconds for a replica's process to enter its network


class Entered(Protocol):
    """A network, as the start of a replica sees it."""

    fds: tuple[int, ...]  # that its process has to inherit
    variables: Mapping[str, str]  # for its environment

    def inside(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that runs `command` in this network."""


class Network(Entered, Protocol):
    """A replica's network, as the server sees it."""

    port: int  # on which the replica is to listen

    async def confirm_entry(self) -> None:
        """Check, once the process has been started, that it got there; OSError if it did not."""

    async def dial(self) -> socket.socket:
        """Return a connection to the replica's port; OSError if nobody listens there."""

    def close(self) -> None:
        """Clean up after a replica that has ended."""


class SharedNetwork:
    """The machine's own loopback."""

    fds: tuple[int, ...] = ()
    variables: Mapping[str, str] = {}

    def __init__(self, ports: Ports) -> None:
        """ports: of which it takes a free one."""
        self._ports, self.port = ports, ports.take()

    def inside(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command as it is."""
        return command

    async def confirm_entry(self) -> None:
        """Do nothing: there is nothing to enter."""

    async def dial(self) -> socket.socket:
        """Connect."""
        return await _connect(socket.socket(), self.port)

    def close(self) -> None:
        """Give the port back."""
        self._ports.give_back({self.port})


class OwnNetwork:
    """A network namespace."""

    variables: Mapping[str, str] = {}

    def __init__(self, port: int, outside: Sequence[int] = ()) -> None:
        """port: the replica's; outside: ports of this machine's loopback that it may reach."""
        self.port, self._outside = port, tuple(outside)
        self._line, self._theirs = socket.socketpair()
        self._line.setblocking(False)
        self._dialling = asyncio.Lock()
        self._servers: list[asyncio.Server] = []
        self.fds: tuple[int, ...] = (self._theirs.fileno(),)

    def inside(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that runs `command` in this network, in the same process."""
        words = (str(self.fds[0]), json.dumps(self._outside))
        return (sys.executable, "-I", "-S", str(LAUNCHER), "serve", *words, *command)

    async def confirm_entry(self) -> None:
        """Take the sockets on which the replica reaches this machine's ports, and serve them."""
        self._theirs.close()
        async with asyncio.timeout(ENTERING):
            listeners = await self._sockets(max(1, len(self._outside)))
        for number, port in zip(listeners, self._outside, strict=True):
            listener = socket.socket(fileno=number)
            pass_on = functools.partial(_pass_on, port)
            self._servers.append(await asyncio.start_server(pass_on, sock=listener))

    async def dial(self) -> socket.socket:
        """Ask for a socket of that network, and connect it."""
        async with self._dialling:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(self._line, b"+")
            (number,) = await self._sockets(1)
        return await _connect(socket.socket(fileno=number), self.port)

    async def _sockets(self, most: int) -> list[int]:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._line, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._line)
        message, fds, _, _ = socket.recv_fds(self._line, 1, most)
        if not message:
            raise ConnectionError("the replica's network is gone")
        return list(fds)

    def close(self) -> None:
        """Close the line, which ends the process at its other end, and the ways out."""
        for server in self._servers:
            server.close()
        for end in (self._line, self._theirs):
            end.close()


async def _connect(fresh: socket.socket, port: int) -> socket.socket:
    fresh.setblocking(False)
    try:
        fresh.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(fresh, ("127.0.0.1", port))
    except BaseException:
        fresh.close()
        raise
    return fresh


async def _pass_on(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Connect to a port of this machine, and pass the bytes on both ways."""
    with contextlib.suppress(OSError), contextlib.closing(writer):
        theirs, ours = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(ours):
            await pass_on((reader, writer), (theirs, ours))


@functools.cache
def available() -> bool:
    """Return whether a replica can have a network of its own here (tried once, about 50 ms)."""
    if not system.LINUX:
        return False
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        words = (
            sys.executable,
            "-I",
            "-S",
            str(LAUNCHER),
            "serve",
            str(theirs.fileno()),
            "[1]",
            "true",
        )
        try:
            done = subprocess.run(
                words,
                pass_fds=[theirs.fileno()],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=10,
                check=False,
            )
            theirs.close()
            _, fds, _, _ = socket.recv_fds(ours, 1, 1)
        except (OSError, subprocess.SubprocessError):
            return False
        for number in fds:
            os.close(number)
    return done.returncode == 0 and len(fds) == 1
