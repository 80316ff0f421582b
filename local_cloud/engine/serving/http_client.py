"""Requests over HTTP/1.1 to a served replica, on connections that are used again.

A response is told whole or not at all. The usual one, which has its length, is taken here, which is
several times as fast as h11; all others are left to h11.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import h11

MOST = 1 << 25  # bytes of a response's body
HEAD = 1 << 16  # bytes of its status line and headers
HOST = ("Host", "localhost")
HOP = frozenset(
    {"host", "connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade"}
)


class Lost(Exception):
    """The connection ended before the whole response had come."""


class TooLong(Exception):
    """The response has more bytes than are taken; another replica's would have them too."""

    def __init__(self, what: str, most: int) -> None:
        """Say what is too long."""
        super().__init__(f"the response's {what} is longer than {most} bytes")


@dataclass(frozen=True)
class HttpRequest:
    """What a replica is sent. Host, length and connection are added."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class HttpResponse:
    """What a replica answers; the names of headers are in lower case."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()

    def header(self, name: str, otherwise: str = "") -> str:
        """Return a header's value."""
        return dict(self.headers).get(name, otherwise)


class _Connection:
    """One connection, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.usable = True  # for another request

    async def exchange(self, request: HttpRequest) -> HttpResponse:
        """Send a request and return the response."""
        lines = [f"{request.method} {request.path} HTTP/1.1", "Host: localhost"]
        lines += [f"Content-Length: {len(request.body)}"]
        lines += [f"{name}: {value}" for name, value in request.headers if name.lower() not in HOP]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + request.body)
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise TooLong("head", HEAD) from None
        first, *fields = head[:-4].decode("latin-1").split("\r\n")
        pairs = (field.partition(":") for field in fields)
        headers = tuple((name.lower(), value.strip()) for name, _, value in pairs)
        length = dict(headers).get("content-length", "")
        if not first.startswith("HTTP/1.1 2") or not length.isdecimal():
            return await self._by_h11(request, head)
        self.usable = dict(headers).get("connection", "").lower() != "close"
        if int(length) > MOST:
            raise TooLong("body", MOST)
        body = await self.reader.readexactly(int(length))
        return HttpResponse(int(first[9:12]), body, _own_headers(headers))

    async def _by_h11(self, request: HttpRequest, head: bytes) -> HttpResponse:
        """Take a response that is not the usual one: in chunks, up to the connection's end, …"""
        state = h11.Connection(h11.CLIENT)
        state.send(h11.Request(method=request.method, target=request.path, headers=[HOST]))
        state.send(h11.EndOfMessage())
        state.receive_data(head)
        response, body, size = None, [], 0
        while not isinstance(event := await self._event(state), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body.append(bytes(event.data))
                size += len(event.data)
            elif isinstance(event, h11.ConnectionClosed):
                raise Lost("it was closed")
            if size > MOST:
                raise TooLong("body", MOST)
        if response is None:
            raise Lost("it was closed")
        self.usable = state.their_state is h11.DONE
        headers = tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in response.headers)
        return HttpResponse(response.status_code, b"".join(body), _own_headers(headers))

    async def _event(self, state: h11.Connection) -> object:
        while (event := state.next_event()) is h11.NEED_DATA:
            state.receive_data(await self.reader.read(1 << 16))
        return event


def _own_headers(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers that are the replica's own, and not this connection's."""
    return tuple((name, value) for name, value in headers if name not in HOP)


class Client:
    """Sends requests to one replica, each on a connection that is free."""

    def __init__(self, dial: Callable[[], Awaitable[socket.socket]]) -> None:
        """dial: returns a new connection, or raises OSError."""
        self._dial = dial
        self._free: list[_Connection] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the response; Lost if it did not come whole, TooLong for one that is not taken."""
        connection = None
        try:
            connection = self._open_one() or await self._connect()
            response = await connection.exchange(request)
        except (OSError, EOFError, h11.ProtocolError, Lost) as problem:
            if connection:
                connection.writer.close()
            raise Lost(str(problem)) from problem
        except BaseException:  # what is still under way cannot be told from the next answer
            if connection:
                connection.writer.close()
            raise
        if connection.usable and not connection.reader.at_eof():
            self._free.append(connection)
        else:
            connection.writer.close()
        return response

    def _open_one(self) -> _Connection | None:
        """Return a free connection that the replica has not closed: many close one that is idle."""
        while self._free:
            if not (connection := self._free.pop()).reader.at_eof():
                return connection
            connection.writer.close()
        return None

    async def _connect(self) -> _Connection:
        sock = await self._dial()
        return _Connection(*await asyncio.open_connection(sock=sock, limit=HEAD))

    def close(self) -> None:
        """Close the connections that are free."""
        while self._free:
            self._free.pop().writer.close()
