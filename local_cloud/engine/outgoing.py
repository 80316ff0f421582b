"""A proxy through which the replicas of a job reach other hosts from their private network.

It speaks what clients expect of HTTPS_PROXY and HTTP_PROXY: CONNECT for a tunnel, and requests with
a whole URL for plain HTTP. Only the processes of one job can connect to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from urllib.parse import urlsplit

CHUNK = 1 << 16
CONNECTING = 30.0  # seconds
TUNNEL = re.compile(r"CONNECT \[?([^\s\]]+)\]?:(\d+) HTTP/1\.[01]")
REQUEST = re.compile(r"(\S+) (http://\S+) (HTTP/1\.[01])")
OF_THE_CONNECTION = re.compile(rb"(?im)^(?:proxy-)?connection:[^\n]*\n")
NOT_UNDERSTOOD = b"HTTP/1.1 400 The proxy of this job passes on HTTP and HTTPS only\r\n\r\n"
NOT_REACHED = "HTTP/1.1 502 The local cloud cannot connect to {}: {}\r\n\r\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Connect a client to the host that it asks for, and pass the bytes on both ways."""
    ended = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
    with contextlib.suppress(*ended), contextlib.closing(writer):
        head = await reader.readuntil(b"\r\n\r\n")
        await _answer(head, reader, writer)


async def _answer(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    line = head.partition(b"\r\n")[0].decode("latin-1")
    if tunnel := TUNNEL.fullmatch(line):
        host, port, first = tunnel[1], int(tunnel[2]), b""
    elif request := REQUEST.fullmatch(line):
        url = urlsplit(request[2])
        host, port, first = url.hostname or "", url.port or 80, _as_sent(request, head)
    else:
        writer.write(NOT_UNDERSTOOD)
        return
    try:
        async with asyncio.timeout(CONNECTING):
            theirs, ours = await asyncio.open_connection(host, port)
    except (OSError, UnicodeError, ValueError) as problem:
        words = NOT_REACHED.format(f"{host}:{port}", " ".join(str(problem).split()) or "no answer")
        writer.write(words.encode("ascii", "replace"))
        return
    with contextlib.closing(ours):
        if first:
            ours.write(first)
        else:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await pass_on((reader, writer), (theirs, ours))


def _as_sent(request: re.Match[str], head: bytes) -> bytes:
    """The head of a plain request as its host expects it; the connection ends with its response."""
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
