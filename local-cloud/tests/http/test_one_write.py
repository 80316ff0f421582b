"""A small answer's head and body leave together; what is large or waits does not hold them up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from local_cloud.http.one_write import MOST, OneWrite


class Sent:
    """A transport that keeps what it gets."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.pieces.append(data)

    def close(self) -> None:
        self.pieces.append(b"closed")

    def is_closing(self) -> bool:
        return False


async def finish(together: OneWrite) -> None:
    together.flush()


async def close(together: OneWrite) -> None:
    together.close()


async def wait_a_turn(together: OneWrite) -> None:
    await asyncio.sleep(0)


def pieces_of(end: Callable[[OneWrite], Awaitable[None]], *written: bytes) -> list[bytes]:
    """What is sent when these are written, and then something ends them."""

    async def run() -> list[bytes]:
        sent: Any = Sent()
        together = OneWrite(sent, asyncio.get_running_loop())
        for each in written:
            together.write(each)
        await end(together)
        assert not together.is_closing()
        return list(sent.pieces)

    return asyncio.run(run())


@pytest.mark.parametrize("end", [finish, wait_a_turn])
def test_head_and_body_are_one_piece(end: Callable[[OneWrite], Awaitable[None]]) -> None:
    assert pieces_of(end, b"head ", b"body") == [b"head body"]


def test_what_is_written_before_the_end_of_the_connection_is_sent() -> None:
    assert pieces_of(close, b"head ", b"body") == [b"head body", b"closed"]


def test_many_bytes_do_not_pile_up() -> None:
    block = b"a" * MOST
    assert pieces_of(finish, b"head", block, block, b"end") == [b"head" + block, block + b"end"]
