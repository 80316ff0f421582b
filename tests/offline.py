"""Run a command with the network cut but for loopback: `python -m tests.offline COMMAND…`.

On Linux anybody can have a network of their own, in which only loopback is (user_namespaces(7)).
Where that is forbidden, and on other systems, the command runs with the network that is there, and
one line says so.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys

CUT = ("unshare", "--user", "--map-root-user", "--net")
SET_FLAGS, UP = 0x8914, 1  # SIOCSIFFLAGS and IFF_UP, netdevice(7)


def can_be_cut() -> bool:
    """Whether this system gives out networks."""
    try:
        return subprocess.run([*CUT, "true"], capture_output=True).returncode == 0
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
        command = command[1:]
    elif can_be_cut():
        command = [*CUT, sys.executable, "-m", "tests.offline", "--inside", *command]
    else:
        print("the network is not cut: this system does not allow it", flush=True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
