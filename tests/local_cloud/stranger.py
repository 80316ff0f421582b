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
