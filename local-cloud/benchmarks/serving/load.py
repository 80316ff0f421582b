"""Clients that send one request after the other over connections of their own.

`python -m benchmarks.serving.load URL CLIENTS SECONDS BODY` prints, as JSON, the requests answered
in a second and the latencies' median and 99th percentile in milliseconds. An answer other than 200
ends it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from urllib.parse import urlsplit


async def client(host: str, port: int, request: bytes, until: float) -> list[float]:
    """Send the request until the time is up; return the seconds that each answer took."""
    reader, writer = await asyncio.open_connection(host, port)
    took = []
    while (begun := time.perf_counter()) < until:
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise SystemExit(f"{host}:{port} answered {head.decode('latin-1')}")
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        took.append(time.perf_counter() - begun)
    writer.close()
    return took


async def load(url: str, clients: int, seconds: float, body: str) -> dict[str, float]:
    """Run all clients at once."""
    where = urlsplit(url)
    assert where.hostname and where.port
    head = (
        f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    until = time.perf_counter() + seconds
    each = (
        client(where.hostname, where.port, f"{head}{body}".encode(), until) for _ in range(clients)
    )
    took = sorted(one for some in await asyncio.gather(*each) for one in some)
    return {
        "rate": len(took) / seconds,
        "median": 1000 * statistics.median(took),
        "p99": 1000 * took[int(0.99 * len(took))],
    }


if __name__ == "__main__":
    url, clients, seconds, body = sys.argv[1:]
    print(json.dumps(asyncio.run(load(url, int(clients), float(seconds), body))))
