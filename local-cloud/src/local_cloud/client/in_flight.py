"""Cut off requests that wait for an answer while the server's process is suspended.

A server that was killed closes its connections, and the client sees it at once. One that is
suspended keeps them open, and an SDK would wait a minute and more.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator

from local_cloud.client.home import Home
from local_cloud.client.process_state import is_suspended

PERIOD = 1.0  # seconds between two looks at the server's process

_lock = threading.Lock()
_waiting: dict[Home, int] = {}  # how many requests wait for an answer of the server in a home
_watcher: threading.Thread | None = None


@contextlib.contextmanager
def watch(home: Home) -> Iterator[None]:
    """Watch the server in this home while a request waits for its answer."""
    with _lock:
        _waiting[home] = _waiting.get(home, 0) + 1
        _start_watcher()
    try:
        yield
    finally:
        with _lock:
            _waiting[home] -= 1
            if not _waiting[home]:
                del _waiting[home]


def _start_watcher() -> None:
    """Start the watching thread, unless it is alive: a fork does not copy it."""
    global _watcher
    if _watcher is None or not _watcher.is_alive():
        _watcher = threading.Thread(target=_watch, name="local-cloud-in-flight", daemon=True)
        _watcher.start()


def _watch() -> None:
    """Watch as long as requests are in flight."""
    global _watcher
    while True:
        time.sleep(PERIOD)
        with _lock:
            homes = list(_waiting)
            if not homes:
                _watcher = None
                return
        for home in homes:
            address = home.address()
            if address and is_suspended(address["pid"]):
                cut_connections(address["port"])


def cut_connections(port: int) -> None:
    """Shut down this process's connections to a port of loopback; their requests get an error.

    It finds them among the open files, so it does not matter which library has opened them.
    """
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):  # one that was closed meanwhile, or is not connected
            copy = os.dup(int(name))
            if not stat.S_ISSOCK(os.fstat(copy).st_mode):
                os.close(copy)
                continue
            with socket.socket(fileno=copy) as connection:
                if connection.getpeername() == ("127.0.0.1", port):
                    connection.shutdown(socket.SHUT_RDWR)
