"""Responses of replicas: with a length, in chunks, up to the connection's end, cut off."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import pytest

from local_cloud.engine.serving.http_client import Client, HttpRequest, HttpResponse, Lost, TooLong

REQUEST = HttpRequest("POST", "/predict", b"{}", (("Accept", "text/csv"), ("Host", "elsewhere")))

SECONDS = 60.0


def client_of(server: asyncio.Server) -> Client:
    """One whose connections lead to this server."""

    async def dial() -> socket.socket:
        fresh = socket.socket()
        fresh.setblocking(False)
        await asyncio.get_running_loop().sock_connect(fresh, server.sockets[0].getsockname())
        return fresh

    return Client(dial)


def answered(*responses: bytes, times: int = 1) -> tuple[list[HttpResponse], list[bytes]]:
    """What the client makes of a server's responses, one for each connection; what it sent."""
    heard: list[bytes] = []
    rest = list(responses)
    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        response = rest.pop(0)
        with suppress(ConnectionError):  # the client need not wait for all of it
            while head := await reader.read(1 << 16):
                heard.append(head)
                writer.write(response)
                if b"chunked" not in response and b"content-length" not in response.lower():
                    break
                if response.endswith(b"cut"):
                    break
            writer.close()
            await writer.wait_closed()

    async def run() -> list[HttpResponse]:
        server = await asyncio.start_server(serve, "127.0.0.1")
        client = client_of(server)
        try:
            return [await client.send(REQUEST, SECONDS) for _ in range(times)]
        finally:
            client.close()
            server.close()
            await asyncio.gather(*filter(None, serving))

    return asyncio.run(run()), heard


def test_a_response_with_its_length_and_the_connection_is_used_again() -> None:
    text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Own: a\r\n\r\n{}"
    responses, heard = answered(text, times=3)
    assert responses == [HttpResponse(200, b"{}", (("x-own", "a"),))] * 3
    assert heard[0] == (
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
        b"Accept: text/csv\r\n\r\n{}"
    )


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
        b"HTTP/1.0 400 Bad\r\n\r\nno",
        b"HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno",
    ],
)
def test_every_other_response_is_taken_whole(text: bytes) -> None:
    responses, _ = answered(text, text, times=2)
    assert [(each.status, each.body) for each in responses] == [(400, b"no")] * 2


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\ncut",
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200",
    ],
)
def test_a_response_that_does_not_come_whole_is_lost(text: bytes) -> None:
    with pytest.raises(Lost):
        answered(text)


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\ncut",
        b"HTTP/1.1 200 OK\r\nX-Own: " + b"a" * (1 << 17) + b"\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\n\r\n" + b"a" * ((1 << 25) + 1),
        b"HTTP/1.0 200 OK\r\nX-Own: " + b"a" * (1 << 20),
    ],
)
def test_a_response_that_is_too_long_is_not_lost_and_so_not_sent_again(text: bytes) -> None:
    with pytest.raises(TooLong, match=r"response's (head|body) is longer than \d+ bytes"):
        answered(text)


@pytest.mark.parametrize("said", [b"", b"Connection: Close\r\n"])
def test_a_connection_that_the_replica_has_closed_is_not_used_again(said: bytes) -> None:
    """Many servers close one that was idle for some seconds, without a word in the response."""
    whole = b"HTTP/1.1 200 OK\r\n" + said + b"Content-Length: 2\r\n\r\n{}"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(whole)
        await asyncio.sleep(0)  # the response arrives before the end
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1")
        client = client_of(server)
        first = await asyncio.gather(*(client.send(REQUEST, SECONDS) for _ in range(3)))
        while any(each.usable for each in client._free):
            await asyncio.sleep(0.01)
        assert [each.body for each in [*first, await client.send(REQUEST, SECONDS)]] == [b"{}"] * 4
        client.close()
        server.close()

    asyncio.run(run())


def test_a_connection_with_more_than_the_response_is_not_used_again() -> None:
    """What a replica sends of its own accord is never taken for the answer to the next request."""
    text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    responses, heard = answered(text + text.replace(b"{}", b"[]"), text, times=2)
    assert [each.body for each in responses] == [b"{}"] * 2
    assert len(heard) == 2


def test_a_response_that_takes_too_long_is_not_waited_for() -> None:
    given_up = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        await reader.read()  # up to the end of the connection
        writer.close()
        given_up.set()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1")
        with pytest.raises(TimeoutError):
            await client_of(server).send(REQUEST, 0.01)
        await given_up.wait()
        server.close()

    asyncio.run(run())
