"""Requests to every page and form of the console, with what no page would send."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from starlette.routing import Route

from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.console.service import PAGES
from local_cloud.console.site.actions import VERBS
from local_cloud.console.site.sessions import Sessions
from local_cloud.console.site.site import Site
from local_cloud.platform import Platform
from testing.visitor import Visitor
from tests.schema_requests import LONG, SURROGATE

PARAMETERS = (
    "after",
    "code",
    "key",
    "kind",
    "name",
    "prefix",
    "q",
    "replica",
    "save",
    "scheme",
    "page",
    "bucket",
    "cloud",
    "state",
    "refused",
    "part",
    "failure",
    "every",
    "place",
    "run",
)
VALUES = (
    "declared",
    "x",
    "gs",
    "s3",
    "no quota",
    "projects/1",
    "projects/1/locations/a/jobs/1",
    "",
    "-1",
    "0",
    "1e9",
    "9" * 5000,
    "NaN",
    "a/b",
    "../..",
    "\0",
    "%ff",
    "(" * 2000,
    SURROGATE,
    "é",
    LONG[:20_000],
)
FORM = "/console/failures"  # a page with a form


def routes(folder: Path) -> list[Route]:
    """The pages and forms; folder: for a platform that is not started."""
    platform = Platform.of(folder, {})
    site = Site(platform, Sessions("", 0), None)  # type: ignore[arg-type]
    declared_routes = [route for kind in PAGES for route in kind(site).routes()]
    platform.close_records()
    return [route for route in declared_routes if isinstance(route, Route)]


def walk(home: Home, folder: Path, rounds: int, seed: int) -> Iterator[tuple[str, int]]:
    """Ask every page `rounds` times; yield what was sent, and the status of the answer."""
    chance, visitor = random.Random(seed), Visitor(home.address()["port"])
    link = urlsplit(control.console_link(home))
    visitor.get(f"{link.path}?{link.query}")
    (token,) = set(re.findall(r'name="form_token" value="(\w+)"', visitor.get(FORM).text))
    for route in routes(folder) * rounds:
        path = _path(route.path, chance)
        fields = [(name, chance.choice(VALUES)) for name in chance.choices(PARAMETERS, k=6)]
        fields.append(("name", chance.choice(("declared", "x"))))
        query = urlencode(fields, errors="surrogatepass")
        if "POST" in (route.methods or ()):
            body = f"form_token={token}&{query}"
            answer = visitor.ask("POST", path, body, Origin=visitor.origin)
            yield f"POST {path[:200]} {body[:300]}", answer.status
        else:
            yield f"GET {path[:200]}?{query[:300]}", visitor.get(f"{path}?{query}").status


def _path(path: str, chance: random.Random) -> str:
    before, brace, rest = path.partition("{")
    if not brace:
        return path
    name, _, after = rest.partition("}")
    known = (*VERBS, "x") if name == "verb" else ("x", "%00", "%ff", "..", "x" * 3000, "1")
    return before + chance.choice(known) + after
