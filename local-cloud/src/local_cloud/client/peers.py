"""Whose sockets are at the ends of a connection on loopback: other users are strangers.

Linux tells it (sock_diag(7); the structures are in linux/inet_diag.h). Elsewhere nothing does
without more permissions, and the secret alone has to keep strangers out. psutil does not tell it:
it finds the processes of our own sockets, and a client has the standard library alone.
"""

from __future__ import annotations

import functools
import os
import socket
import struct
import sys

End = tuple[str, int]  # an IPv4 address and a port
NOBODY: End = ("127.0.0.1", 0)

_SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_REQUEST = 1  # NLM_F_REQUEST
_HEADER = struct.Struct("=IHHII")
_WANTED = struct.Struct("=BBBxI")
_ENDS = struct.Struct("!HH16s16s")
_ANY = b"\0" * 4 + b"\xff" * 8  # any interface, any cookie
_OWNER = struct.Struct("=II")  # user, inode
_OWNER_AT = _HEADER.size + 4 + _ENDS.size + len(_ANY) + 12


def is_trusted(client: End, server: End) -> bool:
    """Return whether the client's end of this connection is this user's or root's.

    False also for one that the client has closed already: nobody owns that.
    """
    return not _is_told() or _owner(client, server) in (os.getuid(), 0)


def is_taken(port: int) -> bool:
    """Return whether a connection to this port of loopback would reach another user."""
    return _is_told() and _owner(("127.0.0.1", port), NOBODY) not in (os.getuid(), None)


@functools.cache
def _is_told() -> bool:
    """Return whether the kernel says of a socket of our own that it is ours."""
    if sys.platform != "linux":
        return False
    with socket.socket() as own:
        own.bind(NOBODY)
        own.listen(1)
        try:
            return _owner(own.getsockname(), NOBODY) == os.getuid()
        except OSError:  # no such diagnostics in this kernel, or not in this container
            return False


def _owner(local: End, remote: End) -> int | None:
    """Return the user whose socket at `local` gets what `remote` sends.

    Return None if nobody has one open.
    """
    addresses = [socket.inet_aton(host).ljust(16, b"\0") for host, _ in (local, remote)]
    wanted = _WANTED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0xFFFFFFFF)
    wanted += _ENDS.pack(local[1], remote[1], *addresses) + _ANY
    header = _HEADER.pack(_HEADER.size + len(wanted), _BY_FAMILY, _REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as diagnostics:
        diagnostics.settimeout(1)
        diagnostics.send(header + wanted)
        answer = diagnostics.recv(4096)
    if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    user, inode = _OWNER.unpack_from(answer, _OWNER_AT)
    return int(user) if inode else None
