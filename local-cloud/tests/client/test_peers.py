"""Other users of the machine: what they may connect to, and what they are sent."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.client import control, peers
from local_cloud.client.home import CHECKOUT, Home
from local_cloud.server import listen
from tests import stranger
from tests.stranger import needs_a_stranger

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells whose a socket is"
)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    """A home of the test's own; whatever runs in it ends with the test."""
    home = Home(tmp_path / "a home")
    yield home
    control.stop(home)


def test_the_users_own_programs_are_trusted() -> None:
    with listen(None) as listener, socket.create_connection(listener.getsockname()) as client:
        connection, address = listener.accept()
        with connection:
            assert peers.is_trusted(address, listener.getsockname())
            client.close()
            assert not peers.is_trusted(address, listener.getsockname())  # nobody has it now
        assert not peers.is_taken(listener.getsockname()[1])
    assert not peers.is_taken(1)


@needs_a_stranger
def test_another_user_is_told_nothing_even_with_the_secret(own: Home) -> None:
    """The secret may have got out: in a saved notebook, a log, a list of processes."""
    url = control.start(own).url
    code = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1] + "/status").read())
except OSError as problem:
    print(type(problem).__name__)
"""
    said = stranger.run(code, str(url))
    assert "Error" in said or "Remote" in said
    assert "pid" not in said
    assert "another user" in own.log.read_text()


def take(port: int) -> subprocess.Popen[str]:
    thief = stranger.begin(stranger.THIEF, str(port))
    assert thief.stdout and thief.stdout.readline() == "listening\n"
    return thief


@needs_a_stranger
def test_whoever_has_the_port_of_a_killed_server_gets_nothing(own: Home) -> None:
    """Neither from the commands nor from an open notebook; the next server has a new secret."""
    first = control.start(own)
    notebook = subprocess.Popen(
        [sys.executable, "-c", NOTEBOOK],
        cwd=CHECKOUT,
        env=os.environ | {"LOCAL_CLOUD_HOME": str(own.folder), "LOCAL_CLOUD_VERTEX_URL": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert notebook.stdout and notebook.stdout.readline() == "ready\n"
    os.kill(first.facts["pid"], signal.SIGKILL)
    while own.running():
        pass
    thief = take(first.port)
    assert not control.status(own).running
    said = notebook.communicate("\n")[0]
    assert said.splitlines() == ["LocalCloudError another user's program has port"] * 2
    *_, port, secret = re.split("[:/]", str(control.start(own).url))
    assert port not in str(first.url)
    assert secret not in str(first.url)
    assert thief.communicate(timeout=60)[0] == "b''\n"


NOTEBOOK = """
import local_cloud; local_cloud.activate()
import boto3, sys
from google.cloud import storage
clients = storage.Client().list_buckets, boto3.client("s3").list_buckets
print("ready", flush=True)
sys.stdin.readline()
for call in clients:
    try:
        print(list(call()))
    except local_cloud.LocalCloudError as problem:
        said = "another user's program has port"
        print(type(problem).__name__, said if said in str(problem) else problem)
"""


@needs_a_stranger
def test_whoever_takes_the_port_while_the_server_stops_gets_nothing(own: Home) -> None:
    """The port is free before the process has ended."""
    first = control.start(own)
    thief = stranger.begin(stranger.THIEF, str(first.port))
    control.stop(own)
    assert thief.stdout and thief.stdout.readline() == "listening\n"
    assert thief.communicate(timeout=60)[0] == "b''\n"
