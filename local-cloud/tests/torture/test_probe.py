"""The longest time in which a server gave no answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from local_cloud.client.home import Home
from tests.torture.probe import Probe


class Slow(BaseHTTPRequestHandler):
    """Answers when it may."""

    protocol_version = "HTTP/1.1"
    may_answer = threading.Event()

    def do_GET(self) -> None:
        self.may_answer.wait()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[Probe]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = Home(tmp_path / "home")
    home.secret()
    home.write_address({"port": server.server_address[1], "pid": 0})
    Slow.may_answer.set()
    yield Probe(home)
    Slow.may_answer.set()
    server.shutdown()
    server.server_close()


def hold(seconds: float) -> None:
    """Give no answer for that long."""
    Slow.may_answer.clear()
    time.sleep(seconds)
    Slow.may_answer.set()


def test_a_server_that_hangs_is_silent(probe: Probe) -> None:
    probe.say("back")
    time.sleep(0.2)
    hold(0.5)
    time.sleep(0.2)
    assert probe.end() >= 0.4


def test_a_server_that_never_answers_again_is_silent_until_the_end(probe: Probe) -> None:
    probe.say("back")
    time.sleep(0.2)
    Slow.may_answer.clear()
    time.sleep(0.5)
    assert probe.end() >= 0.4


def test_a_server_that_is_away_on_purpose_is_not_silent(probe: Probe) -> None:
    probe.say("back")
    time.sleep(0.2)
    probe.say("away")
    hold(3)
    probe.say("back")
    time.sleep(0.2)
    assert probe.end() < 2.5
