"""What all pages share: the check of the session, the headers, the templates, and the response.

Pages hold relative links only, so that they work below any prefix that a proxy puts before them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jinja2
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from local_cloud.console.site import words
from local_cloud.console.site.requests import Clouds
from local_cloud.console.site.sessions import Sessions
from local_cloud.engine.logs import job_files
from local_cloud.http import bodies
from local_cloud.platform import Platform

HERE = Path(__file__).parents[1]
ROOT = "/console"
# Nothing from elsewhere, no script or style in a page, no frame around it, no form to elsewhere.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LARGEST_FORM = 1 << 16
# The menu: address, name, picture.
MENU = (
    ("", "Overview", "home"),
    ("jobs", "Jobs", "jobs"),
    ("studies", "Tuning", "tuning"),
    ("pipelines", "Pipelines", "pipeline"),
    ("experiments", "Experiments", "chart"),
    ("models", "Models", "model"),
    ("endpoints", "Endpoints", "endpoint"),
    ("batches", "Batch predictions", "batch"),
    ("datasets", "Datasets", "data"),
    ("buckets", "Buckets", "bucket"),
    ("bill", "Bill", "bill"),
    ("failures", "Failures", "failure"),
)

# Pages of one thing, and the entry of the menu to which they belong.
SECTIONS = {
    "compare": "jobs",
    "study": "studies",
    "pipeline": "pipelines",
    "experiment": "experiments",
    "board": "experiments",
    "resource": "models",
    "endpoint": "endpoints",
    "bucket": "buckets",
    "object": "buckets",
}

Handler = Callable[[Request], Awaitable[Response]]


def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= words.FILTERS
    return made


TEMPLATES = _templates()


class NotHere(Exception):
    """There is no such page, job, object ...; the message is a sentence for the reader."""


@dataclass(frozen=True)
class Site:
    """What the pages stand on."""

    platform: Platform
    sessions: Sessions
    clouds: Clouds

    def page(self, request: Request, template: str, status: int = 200, **facts: Any) -> Response:
        """Answer with a page; one that the browser has already is not sent again."""
        path = request.scope["path"].removeprefix(ROOT)
        section = path.split("/")[1] if "/" in path else ""
        cookie = next(iter(self.valid_cookies(request)), "")
        text = TEMPLATES.get_template(template).render(
            root="../" * (path.count("/") - 1) or "./",
            place=SECTIONS.get(section, section),
            here=path.rpartition("/")[2] or "./",
            form_token=self.sessions.form_token(cookie),
            menu=MENU,
            refused=request.query_params.get("refused", ""),
            **facts,
        )
        # Half a surrogate pair, as a file or its name may have it, is no text that can be sent.
        content = text.encode(errors="backslashreplace")
        content = job_files.mask_bytes(content, self.platform.engine.hidden)
        mark = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
        if request.headers.get("if-none-match") == mark:
            return Response(status_code=304, headers={"ETag": mark})
        return Response(content, status, {"ETag": mark}, "text/html")

    def valid_cookies(self, request: Request) -> list[str]:
        """Return the request's cookies that the server has given.

        There may be others of the same name, which a page on another port of this machine has set.
        """
        pairs = [
            pair.strip().partition("=")
            for header in request.headers.getlist("cookie")
            for pair in header.split(";")
        ]
        values = [value for name, _, value in pairs if name == self.sessions.cookie]
        return [value for value in values if self.sessions.is_valid(value)]


class RequireSession:
    """ASGI middleware: let in only requests of a signed-in browser, from the console's own pages.

    The guard has checked Host and Origin. Cookies know no ports, so a page of another server on
    this machine could have the browser send ours: what the browser says about where a request
    comes from (Sec-Fetch-Site) is checked as well, and each form holds a token of its session.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        """app: the pages."""
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the request in."""

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), HEADERS[name].encode()) for name in HEADERS]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        request = Request(scope, receive)
        answer = await self._answer(request)
        if answer is None:
            await self.app(request.scope, receive, with_headers)
        else:
            await answer(scope, receive, with_headers)

    async def _answer(self, request: Request) -> Response | None:
        """Return the answer to who may not come in, or who signs in; None for who may."""
        path = request.scope["path"].removeprefix(ROOT)
        if not path:
            return RedirectResponse(f"{ROOT.strip('/')}/", 303)
        if request.method not in ("GET", "HEAD", "POST"):
            return Response("not allowed", 405, media_type="text/plain")
        if path.startswith("/static/"):
            return None
        if not _is_ours(request):
            return Response("only the console's own pages may send this request", 403)
        if path == "/enter":
            return self._enter(request)
        cookies = self.site.valid_cookies(request)
        if not cookies:
            # A cookie does not come with a click on another site's link (SameSite=Strict), but
            # with the page's own second look.
            again = _came_from_elsewhere(request)
            return self.site.page(request, "sign-in.html", 401, again=again, spent=False)
        if request.method == "POST":
            if request.headers.get("origin") is None:
                return Response("the request does not say from which page it comes", 403)
            form = await _form(request)
            token = form.pop("form_token", "")
            if not any(self.site.sessions.is_form_token(token, one) for one in cookies):
                return Response("this form belongs to another session: reload its page", 403)
            request.scope["form"] = form
        return None

    def _enter(self, request: Request) -> Response:
        cookie = self.site.sessions.enter(request.query_params.get("code", ""))
        if cookie is None:
            return self.site.page(request, "sign-in.html", 401, again=False, spent=True)
        answer = RedirectResponse("./", 303)
        # Without Path it is sent to this folder alone, also where a proxy puts a prefix before it.
        answer.set_cookie(
            self.site.sessions.cookie, cookie, path=None, httponly=True, samesite="strict"
        )
        return answer


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form; none of one that is no form."""
    try:
        text = (await bodies.read(request, LARGEST_FORM)).decode(errors="replace")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=100))
    except (bodies.TooLarge, ValueError):
        return {}


def _is_ours(request: Request) -> bool:
    """Return whether a request is our own page's, the user's, or a click on a link to us."""
    site = request.headers.get("sec-fetch-site", "none")
    if site in ("same-origin", "none"):
        return True
    is_click = (
        request.headers.get("sec-fetch-mode") == "navigate"
        and request.headers.get("sec-fetch-dest") == "document"
    )
    return is_click and request.method == "GET"


def _came_from_elsewhere(request: Request) -> bool:
    site = request.headers.get("sec-fetch-site", "none")
    return site not in ("same-origin", "none")
