"""The proxy of one job: what it takes of the server, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from local_cloud.client.target import is_api
from local_cloud.engine.isolation import http_proxy
from local_cloud.engine.isolation.http_proxy import Proxy

Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Line]]


def play(story: Callable[[Proxy, Connect], Awaitable[None]]) -> None:
    """Play a story with a proxy, and with what connects to it."""

    async def whole() -> None:
        proxy, writers = Proxy(), []
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        async def connect() -> Line:
            line = await asyncio.open_connection("127.0.0.1", port)
            writers.append(line[1])
            return line

        await story(proxy, connect)
        server.close()
        for writer in writers:
            writer.close()
            await writer.wait_closed()

    asyncio.run(whole())


def test_its_connections_end_with_the_job_whatever_the_other_host_does() -> None:
    ended = asyncio.Event()

    async def keeps_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.read() == b""  # the client has gone; this end stays open
        ended.set()
        await reader.read()
        writer.write(b"?" * (1 << 24))  # nobody reads it

    async def story(proxy: Proxy, connect: Connect) -> None:
        other = await asyncio.start_server(keeps_open, "127.0.0.1", 0)
        port = other.sockets[0].getsockname()[1]
        reader, writer = await connect()
        writer.write(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        writer.close()
        await ended.wait()
        assert len(proxy._connected) == 1
        proxy.close()
        while proxy._connected:
            await asyncio.sleep(0.01)
        other.close()

    play(story)


def test_a_job_has_so_many_connections_and_each_says_soon_what_it_wants(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_proxy, "MOST", 2)
    monkeypatch.setattr(http_proxy, "HEAD_SECONDS", 0.3)

    async def story(_: Proxy, connect: Connect) -> None:
        lines = [await connect() for _ in range(3)]
        answers = await asyncio.gather(*(reader.read() for reader, _ in lines))
        assert answers == [b"", b"", http_proxy.TOO_MANY]

    play(story)


@pytest.mark.parametrize(
    "line",
    [
        b"CONNECT a:%s HTTP/1.1" % (b"9" * 5000),
        b"GET http://a:99999/ HTTP/1.1",
        b"GET http://[a/ HTTP/1.1",
    ],
)
def test_what_names_no_port_of_a_host_is_not_understood(line: bytes) -> None:
    async def story(_: Proxy, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(line + b"\r\n\r\n")
        assert await reader.read() == http_proxy.NOT_UNDERSTOOD

    play(story)


@pytest.mark.parametrize("host", ["www.googleapis.com", "sqs.us-east-1.amazonaws.com"])
def test_a_client_of_the_clouds_that_no_variable_leads_here_is_refused(host: str) -> None:
    """Whatever its language: Go's and C++'s libraries take the proxy of HTTPS_PROXY, too."""

    async def story(_: Proxy, connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
        said = f"HTTP/1.1 403 {host} is not part of the local cloud, so nothing was sent\r\n\r\n"
        assert (await reader.read()).decode() == said

    play(story)


def test_hosts_with_public_data_are_no_interfaces_of_the_clouds() -> None:
    for host in ("storage.googleapis.com", "files.s3.us-east-1.amazonaws.com", "pypi.org"):
        assert not is_api(host)
    for host in ("oauth2.googleapis.com", "s3-control.googleapis.com", "sts.amazonaws.com"):
        assert is_api(host)
