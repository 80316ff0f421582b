"""The tests and the notebooks run where only loopback is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from testing import offline
from tests import stranger

TALKS = """
import errno, socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)  # RFC 5737: for documents, nobody's
except OSError as problem:
    print(errno.errorcode[problem.errno])
"""
NAMES = """
import socket
try:
    socket.getaddrinfo("nobody.invalid", 80)  # RFC 6761: a name that nobody has
except socket.gaierror as problem:
    print(problem.errno == socket.EAI_NONAME)
print(socket.getnameinfo(("192.0.2.1", 80), 0)[0])
"""
IDENTITY = """
import os
print(os.getuid(), [line for line in open("/proc/self/status") if line.startswith("CapEff")])
"""
needs_networks = pytest.mark.skipif(
    not any(map(offline.can_cut, offline.CUTS)), reason="this system does not give out networks"
)


@needs_networks
def test_loopback_is_all_there_is() -> None:
    command = [sys.executable, offline.__file__, sys.executable, "-c", TALKS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ENETUNREACH\n", "")


@needs_networks
def test_a_host_that_is_not_there_is_unknown_as_with_a_network() -> None:
    command = [sys.executable, offline.__file__, sys.executable, "-c", NAMES]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n192.0.2.1\n", "")


@needs_networks
def test_the_command_is_the_same_users_and_may_do_as_much() -> None:
    outside = [sys.executable, "-c", IDENTITY]
    inside = [sys.executable, offline.__file__, *outside]
    one, other = (subprocess.run(each, capture_output=True) for each in (outside, inside))
    assert one.stdout == other.stdout and str(os.getuid()) in one.stdout.decode()


@stranger.needs_a_stranger
def test_an_ordinary_user_gets_a_network_and_no_rights() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(offline.__file__, folder)
        code = f"{TALKS}\n{IDENTITY}"
        words = [stranger.PYTHON, "offline.py", stranger.PYTHON, "-c", code]
        done = subprocess.run(
            words,
            user=stranger.NOBODY,
            group=stranger.NOBODY,
            extra_groups=[],
            cwd=folder,
            env={},
            capture_output=True,
            text=True,
        )
    if done.stdout.startswith("the network is not cut"):
        pytest.skip("this system gives out networks to root only")
    assert done.stdout == f"ENETUNREACH\n{stranger.NOBODY} ['CapEff:\\t{0:016x}\\n']\n", done.stderr


def test_the_command_ends_as_it_would_without() -> None:
    command = [sys.executable, offline.__file__, sys.executable, "-c", "raise SystemExit(7)"]
    assert subprocess.run(command, capture_output=True).returncode == 7


def test_where_it_cannot_be_cut_a_line_says_so() -> None:
    code = "from testing import offline as o; o.CUTS = [('/no/unshare',)]; o.main(['echo', 'ran'])"
    house = Path(__file__).parents[1]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=house, capture_output=True, text=True)
    said = "the network is not cut: this system does not allow it\nran\n"
    assert (done.stdout, done.stderr) == (said, "")
