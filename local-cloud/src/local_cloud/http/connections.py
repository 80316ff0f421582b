"""A connection to the server: whose it is, and how long it may keep the server waiting.

uvicorn knows no time limit for a request that does not arrive, and no limit on connections that
ask for nothing: 1,400 of them use up the process's file descriptors, and nobody else gets in. Nor
does it limit how long a head may grow, when httptools reads it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from local_cloud.client import peers
from local_cloud.http.one_write import OneWrite

HEAD_SECONDS = 10.0  # from the connection, or the answer before, to the end of the request's head
BODY_SECONDS = 60.0  # without a byte of the body
LONGEST_HEAD = 64 << 10  # bytes, and what comes with its last piece
MOST_SILENT = 256  # connections without a whole request; the oldest makes room for a new one

# The answers to a tunnel: gcloud and bq have this server as their proxy, so that whatever they want
# of other services ends here; gcloud shows the user the words after the number. bq wants a tunnel
# even to the server itself: it gets one, and its requests in it meet the guard as all others do.
TUNNEL_HERE = b"HTTP/1.1 200 Connection established\r\n\r\n"
NO_TUNNEL = b"HTTP/1.1 403 %s is not part of the local cloud, so nothing was sent\r\n\r\n"
HERE = (b"127.0.0.1", b"localhost")
TUNNEL = re.compile(rb"CONNECT ([\w.-]+)(?::(\d+))?")

_log = logging.getLogger(__name__)


class Connection(HttpToolsProtocol):
    """uvicorn's, closed at once if it is another user's, and after a while if it stalls."""

    shared = True  # the listener, with the other users of this machine
    silent: ClassVar[dict[Connection, None]] = {}  # the oldest first

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make it as uvicorn does."""
        super().__init__(*args, **kwargs)
        self.heard = self.loop.time()
        self.timer: asyncio.TimerHandle | None = None
        self.in_head, self.head = False, 0  # bytes of a head that has not ended

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, unless it comes from another user of the machine."""
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if client is None or (self.shared and not peers.is_trusted(client, server)):
            _log.warning("a connection of another user of this machine was closed")
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self.transport = self.writer = OneWrite(transport, self.loop)  # type: ignore[assignment]
        if len(self.silent) >= MOST_SILENT:
            next(iter(self.silent)).leave()
        self.silent[self] = None
        self.timer = self.loop.call_later(HEAD_SECONDS, self.look)

    def data_received(self, data: bytes) -> None:
        """Count a whole head, and bytes of a body, as progress; bytes of a head are none."""
        if self.cycle is None and (match := TUNNEL.match(data)):
            _, whole, rest = data.partition(b"\r\n\r\n")
            port = self.transport.get_extra_info("sockname")[1]
            if whole and match[1] in HERE and match[2] == b"%d" % port:
                self.transport.write(TUNNEL_HERE)
                if rest:
                    self.data_received(rest)
                return
            self.transport.write(NO_TUNNEL % match[1])
            self.transport.close()
            return
        before = self.cycle
        super().data_received(data)
        self.head = self.head + len(data) if self.in_head else 0
        if self.head > LONGEST_HEAD:
            self.send_400_response("The request's head is too long.")
        if self.cycle is None:
            return
        self.silent.pop(self, None)
        if self.cycle is not before or not self.cycle.response_complete:
            self.heard = self.loop.time()

    def on_message_begin(self) -> None:
        """Note that a head begins."""
        self.in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head has ended."""
        self.in_head = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Give the next request its time."""
        self.writer.flush()
        self.heard = self.loop.time()
        super().on_response_complete()

    def look(self) -> None:
        """Close the connection if the client keeps us waiting."""
        if self.cycle is None or self.cycle.response_complete:
            limit = HEAD_SECONDS
        elif self.cycle.more_body and not self.flow.read_paused:
            limit = BODY_SECONDS
        else:  # it waits for us
            self.heard, limit = self.loop.time(), HEAD_SECONDS
        left = self.heard + limit - self.loop.time()
        if left <= 0:
            self.leave()
        else:
            self.timer = self.loop.call_later(left, self.look)

    def leave(self) -> None:
        """Drop the connection."""
        self.silent.pop(self, None)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.silent.pop(self, None)
        if self.timer:
            self.timer.cancel()
        super().connection_lost(exc)


class JobConnection(Connection):
    """One that comes from the network of a job, which no other user can enter."""

    shared = False  # nor does the system tell anything about sockets of another network
