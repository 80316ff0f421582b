"""The server's socket."""

from __future__ import annotations

import socket

from local_cloud.server import listen


def test_its_connections_are_said_to_be_tcp_or_small_answers_would_wait() -> None:
    with listen(None) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.proto == socket.IPPROTO_TCP
