"""A proxy through which the replicas of a job reach other hosts from their private network.

It speaks what clients expect of HTTPS_PROXY and HTTP_PROXY: CONNECT for a tunnel, and requests with
a whole URL for plain HTTP. Only the processes of one job can connect to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from local_cloud.client.target import is_api

CHUNK = 1 << 16
CONNECTING = 30.0  # seconds
HEAD_SECONDS = 10.0  # from the connection to the end of the request's head
MOST = 256  # connections of one job at a time: each takes two of the server's descriptors
TUNNEL = re.compile(r"CONNECT \[?([^\s\]]+)\]?:(\d{1,5}) HTTP/1\.[01]")
REQUEST = re.compile(r"(\S+) (http://\S+) (HTTP/1\.[01])")
OF_THE_CONNECTION = re.compile(rb"(?im)^(?:proxy-)?connection:[^\n]*\n")
NOT_UNDERSTOOD = b"HTTP/1.1 400 The proxy of this job passes on HTTP and HTTPS only\r\n\r\n"
TOO_MANY = f"HTTP/1.1 503 A job has {MOST} connections to other hosts at most\r\n\r\n".encode()
ABSENT = "HTTP/1.1 403 {} is not part of the local cloud, so nothing was sent\r\n\r\n"
NOT_REACHED = "HTTP/1.1 502 The local cloud cannot connect to {}: {}\r\n\r\n"


class Proxy:
    """The proxy of one job, and its connections, which end with the job."""

    def __init__(self) -> None:
        """Begin with nobody connected."""
        self._connected = set[asyncio.Task[None]]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a client to the host that it asks for, and pass the bytes on both ways."""
        if len(self._connected) >= MOST:
            writer.write(TOO_MANY)
            writer.close()
            return
        task = asyncio.current_task()
        assert task
        self._connected.add(task)
        task.add_done_callback(self._connected.discard)
        ended = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        with contextlib.suppress(*ended), _open(writer):
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            await _answer(head, reader, writer)

    def close(self) -> None:
        """Drop the connections: a host may keep its end open although the client has gone."""
        for task in self._connected:
            task.cancel()


@contextlib.contextmanager
def _open(writer: asyncio.StreamWriter) -> Iterator[None]:
    """Close a connection at the end; drop it, with what was to be sent, if that is cut off."""
    try:
        yield
    except asyncio.CancelledError:
        writer.transport.abort()
        raise
    finally:
        writer.close()


async def _answer(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        host, port, first = _parse_request(head)
    except ValueError:
        writer.write(NOT_UNDERSTOOD)
        return
    if is_api(host):  # a client that no variable has led to the local cloud
        writer.write(ABSENT.format(host).encode("ascii", "replace"))
        return
    try:
        async with asyncio.timeout(CONNECTING):
            theirs, ours = await asyncio.open_connection(host, port)
    except (OSError, UnicodeError, ValueError, OverflowError) as problem:
        words = NOT_REACHED.format(f"{host}:{port}", " ".join(str(problem).split()) or "no answer")
        writer.write(words.encode("ascii", "replace"))
        return
    with _open(ours):
        if first:
            ours.write(first)
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await pass_on((reader, writer), (theirs, ours))


def _parse_request(head: bytes) -> tuple[str, int, bytes]:
    """Return the host, its port, and what it is sent first.

    Raise ValueError for what is no such request.
    """
    line = head.partition(b"\r\n")[0].decode("latin-1")
    if tunnel := TUNNEL.fullmatch(line):
        return tunnel[1], int(tunnel[2]), b""
    if request := REQUEST.fullmatch(line):
        url = urlsplit(request[2])
        return url.hostname or "", url.port or 80, _as_sent(request, head)
    raise ValueError(line)


def _as_sent(request: re.Match[str], head: bytes) -> bytes:
    """Return the head of a plain request for its host; the response ends the connection."""
    url = urlsplit(request[2])
    target = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    fields = OF_THE_CONNECTION.sub(b"", head.partition(b"\r\n")[2])
    return f"{request[1]} {target} {request[3]}\r\nConnection: close\r\n".encode("latin-1") + fields


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def pass_on(one: Streams, other: Streams) -> None:
    """Pass what either end sends on to the other, until both have ended."""
    await asyncio.gather(_copy(one[0], other[1]), _copy(other[0], one[1]))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
