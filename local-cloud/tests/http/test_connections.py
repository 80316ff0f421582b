"""Connections that ask for nothing, or never end their request, keep nobody else out."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import logging
import resource
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.http import connections
from local_cloud.http.connections import LONGEST_HEAD, MOST_SILENT
from local_cloud.http.log_limit import MOST, Sparing


def connect(cloud: Status) -> socket.socket:
    return socket.create_connection(("127.0.0.1", cloud.port), timeout=30)


def path(cloud: Status) -> bytes:
    return b"/" + str(cloud.url).rpartition("/")[2].encode()


def head(cloud: Status, what: str, *more: str) -> bytes:
    lines = (f"POST {path(cloud).decode()}{what} HTTP/1.1", f"Host: 127.0.0.1:{cloud.port}", *more)
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


@pytest.fixture
def many_sockets() -> Iterator[None]:
    """A process may often have 1,024 open files only, until it asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = max(soft, 4096)
    if hard != resource.RLIM_INFINITY and hard < enough:
        pytest.skip(f"this user may open {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_sockets")
def test_a_thousand_silent_connections_keep_nobody_out(cloud: Status) -> None:
    before = cloud.home.log.stat().st_size
    with contextlib.ExitStack() as silent:
        for _ in range(1400):
            silent.enter_context(connect(cloud)).sendall(b"GET / HTTP/1.1\r\nX: ")
        assert control.status(cloud.home).running
    assert cloud.home.log.stat().st_size - before < 10_000


def test_one_that_is_refused_is_closed(cloud: Status) -> None:
    with connect(cloud) as connection:
        connection.sendall(b"GET /wrong HTTP/1.1\r\nHost: x\r\n\r\n")
        said = b"".join(iter(lambda: connection.recv(65536), b""))
    assert said.startswith(b"HTTP/1.1 403")


@pytest.mark.slow  # seconds have to pass
def test_one_that_has_been_idle_for_seconds_takes_another_request(cloud: Status) -> None:
    asked = head(cloud, "/none", "Content-Length: 0")
    with connect(cloud) as connection:
        for pause in (6, 0):
            connection.sendall(asked)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert (answer.status, b"knows no POST /none" in answer.read()) == (404, True)
            time.sleep(pause)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], bytes]]:
    """What a server that is short of patience answers, and a client that then waits gets."""
    import uvicorn

    from local_cloud.http.connections import Connection
    from local_cloud.server import listen

    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.2)

    async def app(scope: object, receive: object, send: object) -> None:
        while (await receive())["type"] == "http.request":  # type: ignore[operator]
            pass

    def answered(sent: bytes) -> bytes:
        async def go() -> bytes:
            config = uvicorn.Config(app, http=Connection, lifespan="off", log_level="critical")
            server = uvicorn.Server(config)
            listener = listen(None)
            serving = asyncio.create_task(server.serve([listener]))
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(sent)
            with contextlib.suppress(ConnectionResetError):
                await reader.read()
            writer.close()
            server.should_exit = True
            await serving
            return b"closed"

        return asyncio.run(go())

    yield answered


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: ",
        b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
    ids=["nothing", "half a head", "no body", "half a body"],
)
def test_an_unfinished_request_is_not_waited_for(
    serve: Callable[[bytes], bytes], sent: bytes
) -> None:
    assert serve(sent) == b"closed"


def test_a_head_that_does_not_end_is_refused(cloud: Status) -> None:
    with connect(cloud) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\n")
        for _ in range(LONGEST_HEAD // 1024 + 1):
            connection.sendall(b"X: " + b"x" * 1019 + b"\r\n")
        said = b"".join(iter(lambda: connection.recv(65536), b""))
        assert said.startswith(b"HTTP/1.1 400") and said.endswith(b"head is too long.")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"400"),
        (b"GET \xff HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"400"),
        (b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", b"403"),
        (b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", b"400"),
        (b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", b"403"),
        (b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", b"403"),
    ],
    ids=["TLS", "not ASCII", "version", "CONNECT", "length", "two lengths", "proxy", "upgrade"],
)
def test_what_is_no_request_of_http_is_refused(cloud: Status, sent: bytes, status: bytes) -> None:
    with connect(cloud) as connection:
        connection.sendall(sent)
        assert b"".join(iter(lambda: connection.recv(65536), b"")).split(b" ")[1] == status


def test_a_tunnel_to_the_server_itself_ends_at_the_guard(cloud: Status) -> None:
    """bq asks for one; it leads nowhere else."""
    with connect(cloud) as connection:
        connection.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % cloud.port)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        host = b"Host: 127.0.0.1:%d\r\n" % cloud.port
        connection.sendall(b"GET /bigquery/v2/projects HTTP/1.1\r\n" + host + b"\r\n")
        assert b"".join(iter(lambda: connection.recv(65536), b"")).split(b" ")[1] == b"403"


def test_the_oldest_silent_one_makes_room(cloud: Status) -> None:
    with contextlib.ExitStack() as silent:
        first = silent.enter_context(connect(cloud))
        for _ in range(MOST_SILENT):
            silent.enter_context(connect(cloud))
        with contextlib.suppress(ConnectionResetError):
            assert first.recv(1) == b""


def test_the_log_keeps_a_few_lines_of_a_kind(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("a test's own")
    log.addFilter(Sparing())
    for number in range(1000):
        log.warning("strangers at the door: %d", number)
    log.warning("another kind")
    said = [record.getMessage() for record in caplog.records]
    assert said == [f"strangers at the door: {number}" for number in range(MOST)] + ["another kind"]
