"""What becomes of a request whose server has ended: sent again where that does no harm."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from local_cloud import LocalCloudError
from local_cloud.client import control, in_flight, revival
from local_cloud.client.control import Status
from local_cloud.client.home import Home
from local_cloud.server import listen

URL = "http://127.0.0.1:1/secret"
LOST, REFUSED = ConnectionResetError("cut off"), ConnectionRefusedError("nobody listens")


@pytest.fixture
def restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server in use that is found restarted, whenever a client looks."""
    monkeypatch.setenv("LOCAL_CLOUD_VERTEX_URL", URL)
    monkeypatch.setattr(revival, "_in_use", None)
    monkeypatch.setattr(revival, "_roots", {})
    pids = iter(range(100))

    def start(home: Home) -> Status:
        return Status(home, URL, {"pid": next(pids)})

    monkeypatch.setattr(control, "start_again", start)
    revival.use(start(Home(tmp_path / "home")))


def answers(*outcomes: str | Exception) -> Callable[[], str]:
    """A request that fails with these errors in turn, or is answered."""
    left = list(outcomes)

    def request() -> str:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return request


def send(request: Callable[[], str], repeatable: bool) -> str:
    return revival.send(
        "POST", f"{URL}/v1/jobs?a=b", request, failures=(OSError,), repeatable=repeatable
    )


def test_what_may_be_sent_twice_is_sent_again(restarted: None) -> None:
    assert send(answers("at once"), repeatable=False) == "at once"
    assert send(answers(LOST, "again"), repeatable=True) == "again"


def test_what_never_arrived_is_sent_again_whatever_it_is(restarted: None) -> None:
    assert send(answers(REFUSED, "again"), repeatable=False) == "again"


def test_what_may_have_had_an_effect_is_not_sent_again_and_the_error_says_so(
    restarted: None,
) -> None:
    with pytest.raises(LocalCloudError, match="before it answered POST v1/jobs; it runs") as error:
        send(answers(LOST, "twice"), repeatable=False)
    assert "secret" not in str(error.value)


def test_a_request_that_ends_every_server_is_not_sent_for_ever(restarted: None) -> None:
    with pytest.raises(LocalCloudError, match="ended twice"):
        send(answers(LOST, LOST, "thrice"), repeatable=True)


def test_an_error_of_a_server_that_runs_stays_the_sdks_own(
    restarted: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    same = Status(Home(tmp_path / "home"), URL, {"pid": 7})
    monkeypatch.setattr(control, "start_again", lambda home: same)
    revival.use(same)
    with pytest.raises(ConnectionResetError):
        send(answers(LOST, "again"), repeatable=True)


def test_requests_to_others_are_left_alone(restarted: None) -> None:
    with pytest.raises(ConnectionResetError):
        revival.send(
            "GET", "https://elsewhere/", answers(LOST), failures=(OSError,), repeatable=True
        )


def test_an_asynchronous_request_is_not_sent_twice_and_says_so(restarted: None) -> None:
    request = answers("at once", LOST)

    async def ask() -> str:
        return request()

    def send_async() -> str:
        return asyncio.run(revival.send_async("POST", f"{URL}/v1/jobs", ask, failures=(OSError,)))

    assert send_async() == "at once"
    with pytest.raises(LocalCloudError, match="before it answered POST v1/jobs; it runs"):
        send_async()


def test_a_client_of_an_earlier_server_that_has_ended_says_so(
    restarted: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_CLOUD_VERTEX_URL", "http://127.0.0.1:2/other")  # as activate() does
    revival.use(Status(Home(tmp_path / "later"), "http://127.0.0.1:2/other", {"pid": 8}))
    earlier = f"{URL}/v1/jobs"
    with pytest.raises(
        LocalCloudError, match=r"make the client again, after .*activate\(\)"
    ) as said:
        revival.send("GET", earlier, answers(REFUSED), failures=(OSError,), repeatable=True)
    assert str(tmp_path / "home") in str(said.value) and "secret" not in str(said.value)


def test_who_waits_for_a_silent_port_is_cut_off_and_nobody_else() -> None:
    with (
        listen(None) as silent,
        listen(None) as other,
        socket.create_connection(silent.getsockname()) as waiting,
        socket.create_connection(other.getsockname()) as kept,
    ):
        cutting = threading.Thread(target=in_flight.cut_connections, args=[silent.getsockname()[1]])
        cutting.start()
        assert waiting.recv(1) == b""
        cutting.join()
        kept.sendall(b"still open")


def test_a_look_at_the_open_files_leaves_none_open() -> None:
    before = len(os.listdir("/dev/fd"))
    with open(__file__):
        in_flight.cut_connections(1)
    assert len(os.listdir("/dev/fd")) == before


def test_the_watcher_ends_when_nothing_is_in_flight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_flight, "PERIOD", 0.01)
    with in_flight.watch(Home(tmp_path)):
        assert any(each.name == "local-cloud-in-flight" for each in threading.enumerate())
    end = time.monotonic() + 30
    while any(each.name == "local-cloud-in-flight" for each in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
