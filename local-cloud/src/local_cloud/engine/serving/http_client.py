"""Requests over HTTP/1.1 to a served replica, on connections that are used again.

A response is returned whole or not at all. One wake-up of the loop takes each: the connection reads
its response as it arrives, and only its end wakes the request that waits. httptools reads it. The
rest is ours because a request then takes 0.12 ms here, in aiohttp 0.22 ms and in httpx 1.4 ms; of
eight at a time 0.07, 0.25 and 2.2 ms each.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httptools

MOST = 1 << 25  # bytes of a response's body
HEAD = 1 << 16  # bytes of its headers
HOP = frozenset(
    {"host", "connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade"}
)

Headers = tuple[tuple[str, str], ...]


class Lost(Exception):
    """The connection ended before the whole response had come."""


class TooLong(Exception):
    """The response has more bytes than are taken; another replica's would have them too."""

    def __init__(self, what: str, most: int) -> None:
        """Say what is too long."""
        super().__init__(f"the response's {what} is longer than {most} bytes")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What a replica is sent. Host, length and connection are added."""

    method: str
    path: str
    body: bytes = b""
    headers: Headers = ()

    def content(self) -> bytes:
        """Return the request as it is sent."""
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: localhost"]
        lines += [f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers if name.lower() not in HOP]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What a replica answers; the names of headers are in lower case."""

    status: int
    body: bytes
    headers: Headers = ()

    def header(self, name: str, otherwise: str = "") -> str:
        """Return a header's value."""
        return dict(self.headers).get(name, otherwise)


class _Connection(asyncio.Protocol):
    """One connection, for one request at a time."""

    def __init__(self) -> None:
        self.usable = True  # for another request
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._response: asyncio.Future[HttpResponse] | None = None  # that a request waits for
        self._expect()

    async def exchange(self, request: HttpRequest, seconds: float) -> HttpResponse:
        """Send a request and return the response; TimeoutError if it takes longer than this."""
        assert self._transport
        loop = asyncio.get_running_loop()
        self._expect()
        self._response = loop.create_future()
        late = loop.call_later(seconds, self._fail, TimeoutError())
        self._transport.write(request.content())
        try:
            return await self._response
        finally:
            late.cancel()

    def close(self) -> None:
        """Close it, whatever is still under way."""
        self.usable = False
        if self._transport:
            self._transport.abort()

    def _expect(self) -> None:
        """Begin a response."""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._has_head = False
        self._head_size = self._body_size = 0

    # ---- what the loop calls --------------------------------------------------------------------
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Read a piece of a response."""
        if self._response is None:  # nobody has asked for anything
            self.close()
            return
        if not self._has_head:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as problem:
            self._fail(Lost(str(problem)))
        if self._head_size > HEAD:
            self._fail(TooLong("head", HEAD))

    def connection_lost(self, exc: Exception | None) -> None:
        """End the response: it is whole if its end is the connection's."""
        if self._has_head and exc is None and not self._has_own_end():
            self.on_message_complete()
        self._fail(Lost(str(exc or "it was closed")))

    def _has_own_end(self) -> bool:
        """Return whether a length, or chunks, say where the response ends."""
        named = dict(self._headers)
        is_chunked = named.get("transfer-encoding", "").lower().endswith("chunked")
        return is_chunked or "content-length" in named

    # ---- what the parser calls ------------------------------------------------------------------
    def on_message_begin(self) -> None:
        """Note a response that nobody has asked for, behind one that has ended."""
        if self._response is None:
            self.usable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        """Measure the head, and the body that it announces."""
        self._has_head = True
        self._head_size = sum(len(name) + len(value) for name, value in self._headers)
        if self._head_size > HEAD:
            self._fail(TooLong("head", HEAD))
        length = dict(self._headers).get("content-length", "0")
        if int(length) > MOST:
            self._fail(TooLong("body", MOST))

    def on_body(self, piece: bytes) -> None:
        """Keep a piece of the body."""
        self._body_size += len(piece)
        if self._body_size > MOST:
            self._fail(TooLong("body", MOST))
        else:
            self._body.append(piece)

    def on_message_complete(self) -> None:
        """Hand the response to the request that waits for it."""
        status = self._parser.get_status_code()
        if status < 200:  # an interim one: the response is still to come
            self._expect()
            return
        self.usable = self._parser.should_keep_alive()
        headers = tuple(each for each in self._headers if each[0] not in HOP)
        waiting, self._response = self._response, None
        if waiting and not waiting.done():  # it may have been cancelled
            waiting.set_result(HttpResponse(status, b"".join(self._body), headers))

    def _fail(self, problem: Exception) -> None:
        """Raise this to the request that waits."""
        self.usable = False
        waiting, self._response = self._response, None
        if waiting and not waiting.done():
            waiting.set_exception(problem)


class Client:
    """Sends requests to one replica, each on a connection that is free."""

    def __init__(self, dial: Callable[[], Awaitable[socket.socket]]) -> None:
        """dial: returns a new connection, or raises OSError."""
        self._dial = dial
        self._free: list[_Connection] = []

    async def send(self, request: HttpRequest, seconds: float) -> HttpResponse:
        """Return the response.

        Lost: it did not come whole. TooLong: it is not taken. TimeoutError: it took longer than so
        many seconds, after the connection was there.
        """
        connection = self._open_one() or await self._connect(seconds)
        try:
            response = await connection.exchange(request, seconds)
        except BaseException:  # what is still under way cannot be told from the next answer
            connection.close()
            raise
        if connection.usable:
            self._free.append(connection)
        else:
            connection.close()
        return response

    def _open_one(self) -> _Connection | None:
        """Return a free connection that the replica has not closed: many close one that is idle."""
        while self._free:
            if (connection := self._free.pop()).usable:
                return connection
            connection.close()
        return None

    async def _connect(self, seconds: float) -> _Connection:
        try:
            async with asyncio.timeout(seconds):
                fresh = await self._dial()
        except TimeoutError:
            raise
        except OSError as problem:
            raise Lost(str(problem)) from problem
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(_Connection, sock=fresh)
        return connection

    def close(self) -> None:
        """Close the connections that are free."""
        while self._free:
            self._free.pop().close()
