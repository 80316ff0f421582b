"""Requests of the real SDKs, changed at random: nobody gets in without the secret, no 500.

`python -m tests.mutations [COUNT [SEED]]` prints how many were tried and let in, and
which ended in a server error, on a local cloud of its own.
"""

from __future__ import annotations

import collections
import http.client
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import local_cloud
from local_cloud.client import control
from local_cloud.client.home import Home
from tests.recorded_requests import Recorded, record

SECONDS = 60.0  # to wait for an answer

TEXTS = (
    "",
    " ",
    "\0",
    "\ud800",
    "\U0001f600",
    "é",
    "x" * 5000,
    "NaN",
    "Infinity",
    "-1",
    "1e400",
    "9" * 400,
    "a/b",
    "../..",
    "%2F",
    "%",
    "{",
    "[",
    "'",
    '"',
    "\\",
    "\n",
    "null",
    "true",
    "gs://",
    "s3://",
    "s3:///",
    "gs://b\0",
    "arn:aws:",
    "0001-01-01T00:00:00Z",
    "1.5s",
    "a:b",
)
VALUES: tuple[Any, ...] = (
    *TEXTS, None, True, False, 0, -1, 1.5, 2**31, 2**63, -(2**64), 1e308, [], {}, [None], [[]],
    {"": ""}, {"a": None}, {"\ud800": 1}, float("nan"), float("inf"),
)  # fmt: skip
SEGMENTS = ("", "%2F", "a%2Fb", "%00", "..", "%2e%2e", "%ff", "%", "-", "~", ":", "x" * 3000, "1")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
HEADER_VALUES = ("", "0", "-1", "x", "bytes=-", "bytes 0-0/0", "é", "a" * 3000, "*", "null", "%ff")
QUERIES = (
    "pageSize=0", "pageToken=%ff", "filter=(", "orderBy=%00", "updateMask=a..b", "maxResults=-1",
    "uploadType=resumable", "alt=media", "uploads", "max-keys=x", "versionId=1", "tagging",
    "partNumber=0", "generation=x", "ifGenerationMatch=9e9", "projection=full", "fields=%ff",
)  # fmt: skip


class Count(NamedTuple):
    """How it went; each server error, and each error that says the secret, as a line of text."""

    tried: int
    let_in: int
    server_errors: list[str]


def mutated_requests(count: int, seed: int) -> Count:
    """Record, mutate and send; on a local cloud of its own, which is removed afterwards."""
    before = os.environ.copy()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOCAL_CLOUD_HOME"] = str(Path(folder, "home"))
        os.environ.pop("LOCAL_CLOUD_VERTEX_URL", None)
        try:
            url = local_cloud.activate().url
            assert url
            return send_mutated(url, record(url), count, seed)
        finally:
            control.stop(Home(Path(folder, "home")))
            os.environ.clear()
            os.environ.update(before)
            if "LOCAL_CLOUD_VERTEX_URL" in before:  # the SDKs have kept the address of this one
                local_cloud.activate()


def send_mutated(url: str, recorded: list[Recorded], count: int, seed: int) -> Count:
    """The same with requests that were recorded from the server at this URL."""
    chance = random.Random(seed)
    let_in, errors = 0, collections.Counter[str]()
    for _ in range(count):
        request = chance.choice(recorded)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            request = chance.choice(MUTATIONS)(request, chance)
        is_stranger = chance.random() < 0.15
        status, said = send(url, request, chance if is_stranger else None)
        if is_stranger:
            let_in += status not in (None, 400, 403)
        elif status in (None, 500) or (status >= 400 and urlsplit(url).path[1:] in said):
            errors[line(request, said)] += 1
    return Count(count, let_in, [f"{number} x {line}" for line, number in errors.most_common()])


def line(request: Recorded, said: str) -> str:
    """A request and its answer, to be read."""
    what = request.headers.get("X-Amz-Target", request.target[:150])
    return f"{request.method} {what} {request.body[:300]!r} -> {said[:300]}"


def send(
    url: str, request: Recorded, chance: random.Random | None = None
) -> tuple[int | None, str]:
    """The status and the body; with `chance` as one who lacks the secret, or comes from a page."""
    address = urlsplit(url)
    secret, host, origin = address.path, address.netloc, None
    if chance:
        fault = chance.randrange(3)
        secret = _wrong(secret, chance) if fault == 0 else secret
        host = f"evil.example:{address.port}" if fault == 1 else host
        origin = "http://evil.example" if fault == 2 else None
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=SECONDS)
    try:
        target = f"{secret}{request.target}".encode("ascii", "backslashreplace").decode()
        for each in (" ", "\0", "\n", "\r", "\x7f"):
            target = target.replace(each, "%20")
        connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", host)
        if origin:
            connection.putheader("Origin", origin)
        for name, value in request.headers.items():
            if name.lower() not in ("host", "content-length", "connection", "transfer-encoding"):
                connection.putheader(name, value.encode("latin-1", "replace"))
        connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as problem:
        return (400 if chance else None), repr(problem)
    finally:
        connection.close()


def _wrong(secret: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(secret))
    return chance.choice(
        (
            "",
            "/",
            "//",
            secret[:-1],
            secret + "x",
            secret.swapcase(),
            "/." + secret,
            secret[:at] + secret[at + 1 :],
            secret[:at] + "%00" + secret[at + 1 :],
            secret + "%2Fstatus",
        )
    )


# ---- mutations ------------------------------------------------------------------------------
def _json(request: Recorded, chance: random.Random) -> Recorded:
    try:
        body = json.loads(request.body)
        places_found = list(places(body)) if isinstance(body, dict | list) else []
    except ValueError:
        places_found = []
    if not places_found:
        return _bytes(request, chance)
    inside, key = chance.choice(places_found)
    kind = chance.randrange(8)
    if kind == 0 and isinstance(inside, dict):
        del inside[key]
    elif kind == 1 and isinstance(inside, dict):
        inside[chance.choice(TEXTS)] = inside.pop(key)
    elif kind == 2:
        nested: Any = chance.choice(VALUES)
        for _ in range(chance.choice((5, 60, 99, 150, 300))):
            nested = [nested] if chance.random() < 0.5 else {"a": nested}
        inside[key] = nested
    elif kind == 3 and isinstance(inside[key], str):
        inside[key] += chance.choice(TEXTS)
    elif kind == 4:
        inside[key] = [inside[key]] * chance.choice((1, 2, 200))
    else:
        inside[key] = chance.choice(VALUES)
    return request._replace(body=json.dumps(body).encode())


def places(value: Any) -> Any:
    """Each list or object inside a value, with a key of it."""
    if not isinstance(value, dict | list):
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        yield from places(item)


def _bytes(request: Recorded, chance: random.Random) -> Recorded:
    body = request.body
    at = chance.randrange(len(body) + 1)
    to = min(at + chance.randrange(1, 20), len(body))
    text = chance.choice(TEXTS).encode(errors="surrogatepass")
    choices = (
        body[:at],
        body[at:],
        body[:at] + text + body[at:],
        body[:at] + text + body[to:],
        body[:at] + b"\xff" + body[at:],
        b"",
        body + body,
        body[:at] + body[at:to] * 50,
    )
    return request._replace(body=chance.choice(choices))


def _path(request: Recorded, chance: random.Random) -> Recorded:
    path, mark, query = request.target.partition("?")
    parts = path.split("/")
    at = chance.randrange(1, len(parts)) if len(parts) > 1 else 0
    kind = chance.randrange(4)
    if kind == 0:
        del parts[at]
    elif kind == 1:
        parts.insert(at, chance.choice(SEGMENTS))
    elif kind == 2:
        parts[at] += chance.choice(SEGMENTS)
    else:
        parts[at] = chance.choice(SEGMENTS)
    target = "/".join(parts)
    return request._replace(target=("" if target.startswith("/") else "/") + target + mark + query)


def _query(request: Recorded, chance: random.Random) -> Recorded:
    path, _, query = request.target.partition("?")
    parts = [part for part in query.split("&") if part]
    if parts and chance.random() < 0.6:
        at = chance.randrange(len(parts))
        name = parts[at].partition("=")[0]
        parts[at] = f"{name}={chance.choice((*SEGMENTS, *HEADER_VALUES[:4]))}"
    else:
        parts.append(chance.choice(QUERIES))
    return request._replace(target=f"{path}?{'&'.join(parts)}")


def _header(request: Recorded, chance: random.Random) -> Recorded:
    headers = dict(request.headers)
    name = chance.choice(list(headers))
    if chance.random() < 0.2:
        del headers[name]
    else:
        headers[name] = chance.choice(HEADER_VALUES)
    return request._replace(headers=headers)


def _method(request: Recorded, chance: random.Random) -> Recorded:
    return request._replace(method=chance.choice(METHODS))


Mutation = Callable[[Recorded, random.Random], Recorded]
MUTATIONS: tuple[Mutation, ...] = (
    *([_json] * 6), _bytes, _path, _path, _query, _query, _header, _method,
)  # fmt: skip


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    tried, let_in, server_errors = mutated_requests(*(numbers + [3000, 1][len(numbers) :]))
    print(f"tried {tried}, let in {let_in}, server errors {len(server_errors)}")
    print(*server_errors, sep="\n")
