"""Run a command with the network cut but for loopback: `python -m tests.offline COMMAND…`.

On Linux anybody can have a network of their own, in which only loopback is (user_namespaces(7)).
The command's user and rights stay as they are: some tests act as another user, if root runs them.
Where a network is forbidden, and on other systems, the command runs with the network that is there,
and one line says so.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

CUTS = (
    ("unshare", "--net"),  # root may do it at once
    ("unshare", "--user", "--map-current-user", "--keep-caps", "--net"),
)
SET_FLAGS, UP = 0x8914, 1  # SIOCSIFFLAGS and IFF_UP, netdevice(7)
AMBIENT, CLEAR_ALL = 47, 4  # PR_CAP_AMBIENT and PR_CAP_AMBIENT_CLEAR_ALL, prctl(2)


def can_cut(by: tuple[str, ...]) -> bool:
    """Whether this system gives out a network to this command."""
    try:
        return subprocess.run([*by, "true"], capture_output=True).returncode == 0
    except OSError:
        return False


def raise_loopback() -> None:
    """Switch on loopback, which is off in a new network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh22x", b"lo", UP))


def main(command: list[str]) -> None:
    """Become this command; `--inside`, its first word, says that the network is cut already."""
    if command[0] == "--inside":
        raise_loopback()
        ctypes.CDLL(None).prctl(AMBIENT, CLEAR_ALL, 0, 0, 0)  # what was kept for the line before
        command = command[1:]
    elif cut := next(filter(can_cut, CUTS), None):
        command = [*cut, sys.executable, "-m", "tests.offline", "--inside", *command]
    else:
        print("the network is not cut: this system does not allow it", flush=True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
