"""On PYTHONPATH, this keeps a process and its children on loopback, and writes down what is not.

Python imports it by its name before anything else. The file that ELSEWHERE names gets a line for
each attempt to reach another machine, whatever becomes of the error that it meets.
"""

from __future__ import annotations

import os
import socket
from typing import Any

HERE = ("127.", "localhost", "::1")
FOUND = {name: getattr(socket, name) for name in ("getaddrinfo", "gethostbyname")}
REACHED = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}


def check(host: object) -> None:
    """Raise OSError unless this is loopback; None is what a server gives that listens."""
    if host is None or str(host).startswith(HERE):
        return
    with open(os.environ["ELSEWHERE"], "a") as file:
        file.write(f"{host}\n")
    raise OSError(f"{host} is not loopback")


def found(name: str) -> Any:
    def ask(host: Any, *rest: Any, **more: Any) -> Any:
        check(host.decode() if isinstance(host, bytes) else host)
        return FOUND[name](host, *rest, **more)

    return ask


def reached(name: str) -> Any:
    def reach(self: socket.socket, *words: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            check(words[-1][0])  # the address comes last
        return REACHED[name](self, *words)

    return reach


for name in FOUND:
    setattr(socket, name, found(name))
for name in REACHED:
    setattr(socket.socket, name, reached(name))
