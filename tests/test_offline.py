"""The notebooks run where only loopback is."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import offline

TALKS = """
import errno, socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)  # RFC 5737: for documents, nobody's
except OSError as problem:
    print(errno.errorcode[problem.errno])
"""


@pytest.mark.skipif(not offline.can_be_cut(), reason="this system does not give out networks")
def test_loopback_is_all_there_is() -> None:
    command = [sys.executable, "-m", "tests.offline", sys.executable, "-c", TALKS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ENETUNREACH\n", "")


def test_the_command_ends_as_it_would_without() -> None:
    command = [sys.executable, "-m", "tests.offline", sys.executable, "-c", "raise SystemExit(7)"]
    assert subprocess.run(command, capture_output=True).returncode == 7


def test_where_it_cannot_be_cut_a_line_says_so() -> None:
    code = "from tests import offline as o; o.CUT = ('/no/unshare',); o.main(['echo', 'ran'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = "the network is not cut: this system does not allow it\nran\n"
    assert (done.stdout, done.stderr) == (said, "")
