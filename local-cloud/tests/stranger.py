"""Another user of this machine, where the tests may become one."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

NOBODY = 65534
PYTHON = shutil.which("python3", path="/usr/bin:/bin")  # one that other users may run

needs_a_stranger = pytest.mark.skipif(
    os.getuid() != 0 or PYTHON is None, reason="only root can act as another user"
)


def begin(code: str, *words: str) -> subprocess.Popen[str]:
    """Run Python code as another user; its input and output are pipes."""
    assert PYTHON
    return subprocess.Popen(
        [PYTHON, "-c", code, *words],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(code: str, *words: str) -> str:
    """What code of another user prints."""
    return begin(code, *words).communicate(timeout=60)[0]


# Takes a port, writes down what it is sent until its input ends, and lets everybody believe that
# it stops as asked.
THIEF = """
import socket, sys, threading
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
while True:
    try:
        server.bind(("127.0.0.1", int(sys.argv[1])))
        break
    except OSError:
        pass
server.listen()
got = []
def serve():
    while True:
        connection, _ = server.accept()
        connection.settimeout(2)
        try:
            got.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
        except OSError:
            pass
        connection.close()
threading.Thread(target=serve, daemon=True).start()
print("listening", flush=True)
sys.stdin.read()
print(b"".join(got))
"""

# Tries as another user: to connect to every port on which the system says that anybody listens, and
# to those that it is given; and to enter the network of a process. Prints which of the given ports
# took a connection, and whether it got in.
SCAN = """
import ctypes, os, socket, sys

given = {*map(int, sys.argv[2:])}
fields = [line.split() for name in ("tcp", "tcp6") for line in list(open(f"/proc/net/{name}"))[1:]]
listening = {int(each[1].split(":")[1], 16) for each in fields if each[3] == "0A"}
reached = set()
for port in listening | given:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        reached.add(port)
    except OSError:
        pass
try:
    network = os.open(f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY)
    entered = ctypes.CDLL(None).setns(network, 0) == 0
except PermissionError:
    entered = False
print(sorted(reached & given), entered)
"""
