"""Bodies of requests that are read whole: how large they may be, and what JSON they may hold.

Only a small body is parsed on the server's loop, where everybody waits for it. Objects do not come
this way: they are written to disk as they arrive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from local_cloud.http.whole_numbers import whole

LARGEST = 1 << 20  # bytes; the SDKs cut what is longer into several requests
MOST_VALUES = 50_000  # in lists and objects: checking each against a schema takes its time
SMALL = 16 << 10  # bytes of a body that is read on the loop: to wait for a thread takes longer
DEEPEST = 100  # levels of lists and objects: protobuf's limit of recursion


Result = TypeVar("Result")


class TooLarge(Exception):
    """A body longer than the most that is taken."""

    def __init__(self, largest: int) -> None:
        """Use Google's words."""
        super().__init__(f"Request payload size exceeds the limit: {largest} bytes.")


async def read(request: Request, largest: int = LARGEST) -> bytes:
    """Return the whole body.

    Raises TooLarge, before anything is read if the length is announced, else as soon as there is
    too much; ClientDisconnect.
    """
    announced = request.headers.get("content-length", "")
    if (whole(announced) or 0) > largest:
        raise TooLarge(largest)
    parts, size = [], 0
    while True:
        message = await request.receive()  # a small body is one message: no stream is needed
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            raise TooLarge(largest)
        if not message.get("more_body", False):
            return b"".join(parts)


async def process(content: bytes, function: Callable[[bytes], Result]) -> Result:
    """Return what a function makes of a body, in a thread if that may take long."""
    if len(content) <= SMALL:
        return function(content)
    return await run_in_threadpool(function, content)


def parse(content: bytes, most_values: int = MOST_VALUES) -> Any:
    """Return the JSON of a body. Raises ValueError for what could not be kept, or not be sent back.

    That is NaN and infinity, half a surrogate pair, too many values, and too deep a nesting.
    """
    try:
        value = json.loads(content, parse_constant=refuse_constant)
        _check_size(value, most_values)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def refuse_constant(constant: str) -> NoReturn:
    """Raise ValueError for NaN and the infinities: Python's json reads them, JSON has none."""
    raise ValueError(f"{constant} is not JSON")


# Made once: json.loads makes a new one for each text that it is to read with a rule of ours.
_STRICT = json.JSONDecoder(parse_constant=refuse_constant)


def parse_strictly(text: str) -> Any:
    """Return the JSON of a text. Raises ValueError, RecursionError."""
    return _STRICT.decode(text)


def _check_size(value: Any, most: int) -> None:
    level, count = [value], 0
    for _ in range(DEEPEST + 1):
        count += len(level)
        if count > most:
            raise ValueError(f"more than {most} values")
        level = [each for one in level for each in _inside(one)]
        if not level:
            return
    raise ValueError("nested too deeply")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
