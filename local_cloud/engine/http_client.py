"""Requests over HTTP/1.1 to a served replica, on connections that are used again.

By h11, which the server's own connections use: a response is told whole or not at all.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import h11

MOST = 1 << 25  # bytes of a response
HOP = (b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"te", b"upgrade")


class Lost(Exception):
    """The connection ended before the whole response had come."""


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
        self.state = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 16)

    async def exchange(self, request: HttpRequest) -> HttpResponse:
        """Send a request and return the response."""
        headers = [("Host", "localhost"), ("Content-Length", str(len(request.body)))]
        own = [each for each in request.headers if each[0].lower().encode() not in (b"host", *HOP)]
        head = h11.Request(method=request.method, target=request.path, headers=headers + own)
        parts = [self.state.send(head), self.state.send(h11.Data(data=request.body))]
        parts.append(self.state.send(h11.EndOfMessage()))
        self.writer.write(b"".join(filter(None, parts)))
        await self.writer.drain()
        response, body, size = None, [], 0
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body.append(bytes(event.data))
                size += len(event.data)
            elif isinstance(event, h11.ConnectionClosed):
                raise Lost("it was closed")
            if size > MOST:
                raise Lost(f"the response is longer than {MOST} bytes")
        if response is None:
            raise Lost("it was closed")
        kept = [(n, v) for n, v in response.headers if n not in HOP]
        told = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in kept)
        return HttpResponse(response.status_code, b"".join(body), told)

    async def _event(self) -> object:
        while (event := self.state.next_event()) is h11.NEED_DATA:
            self.state.receive_data(await self.reader.read(1 << 16))
        return event

    def again(self) -> bool:
        """Whether another request may follow; makes ready for it."""
        if self.state.our_state is h11.DONE and self.state.their_state is h11.DONE:
            self.state.start_next_cycle()
            return not self.reader.at_eof()
        return False


class Client:
    """Sends requests to one replica, each on a connection that is free."""

    def __init__(self, dial: Callable[[], Awaitable[socket.socket]]) -> None:
        """dial: returns a new connection, or raises OSError."""
        self._dial = dial
        self._free: list[_Connection] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Return the response; Lost if it did not come whole."""
        connection = None
        try:
            connection = self._free.pop() if self._free else await self._connect()
            response = await connection.exchange(request)
        except (OSError, EOFError, h11.ProtocolError, Lost) as problem:
            if connection:
                connection.writer.close()
            raise Lost(str(problem)) from problem
        except BaseException:  # cancelled: what is under way cannot be told from the next answer
            if connection:
                connection.writer.close()
            raise
        if connection.again():
            self._free.append(connection)
        else:
            connection.writer.close()
        return response

    async def _connect(self) -> _Connection:
        return _Connection(*await asyncio.open_connection(sock=await self._dial()))

    def close(self) -> None:
        """Close the connections that are free."""
        while self._free:
            self._free.pop().writer.close()
