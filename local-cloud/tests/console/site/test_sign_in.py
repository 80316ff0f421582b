"""Who gets into the console: whoever has a link that works once, and no other page or site."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import urlsplit

import pytest

import local_cloud
from local_cloud.client import control
from local_cloud.client.control import Status
from local_cloud.console.site.sessions import LINK_SECONDS, SESSION_SECONDS, Sessions
from testing.visitor import Visitor


def test_a_link_works_once_and_leads_to_an_address_without_it(cloud: Status) -> None:
    link = urlsplit(control.console_link(cloud.home))
    first, second = Visitor(cloud.port), Visitor(cloud.port)
    answer = first.get(f"{link.path}?{link.query}")
    assert (answer.status, answer.headers["location"]) == (303, "./")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "domain" not in cookie
    assert "path" not in cookie  # so that it is sent to this folder alone
    assert first.get("/console/").status == 200
    answer = second.get(f"{link.path}?{link.query}")
    assert answer.status == 401 and "has been used" in answer
    assert not second.cookies and second.get("/console/").status == 401


def test_the_command_prints_such_a_link(cloud: Status) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "local_cloud", "console"], capture_output=True, text=True, check=True
    )
    link = urlsplit(done.stdout.split()[-1])
    secret = urlsplit(cloud.url or "").path[1:]
    assert secret not in done.stdout + done.stderr
    assert Visitor(cloud.port).get(f"{link.path}?{link.query}").status == 303


@pytest.mark.parametrize("path", ["", "jobs", "jobs/1", "jobs/1/log", "buckets", "nothing-here"])
def test_without_signing_in_no_page_says_anything(cloud: Status, path: str) -> None:
    visitor = Visitor(cloud.port)
    for visitor.cookies in ({}, {f"local-cloud-{cloud.port}": f"{2**40}.x.{'0' * 64}"}):
        answer = visitor.get(f"/console/{path}")
        assert answer.status == 401 and "python -m local_cloud console" in answer
        assert urlsplit(cloud.url or "").path[1:] not in answer.text
    assert visitor.post("/console/jobs/1/stop", {}).status == 401


def test_behind_the_word_console_there_is_nothing_but_the_console(visitor: Visitor) -> None:
    for path in ("status", "../status", "..%2fstatus", "/status", "storage/v1/b", "aws"):
        assert visitor.get(f"/console/{path}").status == 404
    assert visitor.get("/consoles/").status == 403


def test_links_and_cookies_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, now = Sessions("a secret", 1), [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.time", lambda: now[0])
    late = sessions.link()
    cookie = sessions.enter(sessions.link())
    assert cookie and sessions.is_valid(cookie)
    assert Sessions("a secret", 1).is_valid(cookie), "a restart of the server signs nobody out"
    assert not Sessions("another one", 1).is_valid(cookie)
    assert not sessions.is_valid(cookie[:-1] + "x") and not sessions.is_valid("")
    now[0] += LINK_SECONDS + 1
    assert sessions.enter(late) is None
    now[0] += SESSION_SECONDS
    assert not sessions.is_valid(cookie)


def test_every_answer_forbids_scripts_frames_and_copies(visitor: Visitor) -> None:
    for path in ("/console/", "/console/none", "/console/static/console.js"):
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self';") and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in headers)


# What a browser sends for a page of another site, of another port of this machine, or of a frame.
ELSEWHERE = (
    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "image"},
    {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors", "Sec_Fetch_Dest": "empty"},
    {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"},
    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://127.0.0.1:1"},
    {"Host": "evil.example"},
)


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_no_other_page_can_read_anything(visitor: Visitor, headers: dict[str, str]) -> None:
    """Even if the browser sent it our cookie, as it does to other ports of this machine."""
    answer = visitor.get("/console/jobs", **headers)
    assert answer.status == 403 and "<table" not in answer.text


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_no_other_page_can_press_a_button(visitor: Visitor, headers: dict[str, str]) -> None:
    assert visitor.post("/console/jobs/1/stop", {}, **headers).status == 403


def test_a_button_needs_the_token_of_its_session(cloud: Status, visitor: Visitor) -> None:
    sessions = Sessions(urlsplit(cloud.url or "").path[1:], cloud.port)
    (own,) = visitor.cookies.values()
    (others,) = Visitor.of(cloud).cookies.values()
    for token, status in ((others, 403), ("", 403), (own, 404)):
        fields = {"form_token": token and sessions.form_token(token)}
        assert visitor.post("/console/jobs/1/stop", fields).status == status
    body = visitor.ask("POST", "/console/jobs/1/stop", "form_token=1")
    assert body.status == 403, "a form without an Origin is no browser's"


@pytest.mark.parametrize("order", ["{own}; {other}", "{other}; {own}"])
def test_a_second_cookie_of_the_same_name_neither_lets_in_nor_locks_out(
    cloud: Status, visitor: Visitor, order: str
) -> None:
    """A page on another port of this machine can set one for a folder, which is sent first."""
    ((name, value),) = visitor.cookies.items()
    forged = f"{name}={2**40}.x.{'0' * 64}"
    (others,) = Visitor.of(cloud).cookies.values()
    signed_in, stranger = Visitor(cloud.port), Visitor(cloud.port)
    for second in (forged, f"{name}=", f"{name}={others}"):
        sent = order.format(own=f"{name}={value}", other=second)
        assert signed_in.get("/console/jobs", Cookie=sent).status == 200
        token = Sessions(urlsplit(cloud.url or "").path[1:], cloud.port).form_token(value)
        pressed = signed_in.post("/console/jobs/1/stop", {"form_token": token}, Cookie=sent)
        assert pressed.status != 403
    assert (
        stranger.get("/console/jobs", Cookie=order.format(own=forged, other=forged)).status == 401
    )


def test_a_click_on_a_link_elsewhere_looks_again_for_the_cookie(cloud: Status) -> None:
    """SameSite=Strict keeps it from the first request: the page then asks for itself."""
    click = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    stranger = Visitor(cloud.port)
    first = stranger.get("/console/jobs", Sec_Fetch_Site="cross-site", **click)
    assert 'http-equiv="refresh"' in first
    second = stranger.get("/console/jobs", Sec_Fetch_Site="same-origin", **click)
    assert second.status == 401 and "refresh" not in second.text


HUB = "https://hub.example.org"


def test_a_proxy_that_the_user_names_may_pass_requests_to_the_console_alone(
    cloud: Status, visitor: Visitor
) -> None:
    """JupyterLab's proxy leaves the browser's Host and Origin as they are."""
    through = {"Host": "hub.example.org", "Origin": HUB}
    assert visitor.get("/console/", **through).status == 403
    link = control.console_link(cloud.home, f"{HUB}/user/ada/proxy/PORT/")
    assert link.startswith(f"{HUB}/user/ada/proxy/{cloud.port}/console/enter?code=")
    assert visitor.get("/console/", **through).status == 200
    assert visitor.get("/console/", Host="hub.example.org").status == 200
    for other in ({"Host": "example.org"}, {**through, "Origin": "http://hub.example.org"}):
        assert visitor.get("/console/", **other).status == 403
    assert visitor.get(f"{urlsplit(cloud.url or '').path}/status", **through).status == 403
    with pytest.raises(local_cloud.LocalCloudError, match="is not a URL"):
        control.console_link(cloud.home, "hub.example.org/proxy")


def test_after_a_restart_the_browser_is_still_signed_in(cloud: Status, visitor: Visitor) -> None:
    local_cloud.stop()
    local_cloud.activate()
    assert visitor.get("/console/").status == 200
