"""Run a command with the network cut but for loopback: `python offline.py COMMAND…`.

On Linux anybody can have a network of their own, in which only loopback is (user_namespaces(7)).
The command's user and rights stay as they are: some tests act as another user, if root runs them.
Hosts are looked up in /etc/hosts alone: others are unknown, as an unknown one is with a network (no
server of names can be asked, and torch warns of that). Where a network is forbidden, and on
other systems, the command runs with the network that is there, and one line says so.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

CUTS = (
    ("unshare", "--net", "--mount"),  # root may do it at once
    ("unshare", "--user", "--map-current-user", "--keep-caps", "--net", "--mount"),
)
NAME_SERVICES = Path("/etc/nsswitch.conf")  # nsswitch.conf(5)
BIND = 4096  # MS_BIND, mount(2)
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


def look_up_hosts_in_files() -> None:
    """Show this process and its children settings that ask no server for the names of hosts."""
    there = NAME_SERVICES.read_text() if NAME_SERVICES.exists() else ""
    settings = re.sub(r"(?m)^hosts:.*$", "hosts: files", there)
    if settings == there:  # where the command of a command like this one runs
        return
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:  # stays while it is mounted
        os.chmod(file.name, 0o644)
        file.write(settings)
        file.flush()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(file.name.encode(), bytes(NAME_SERVICES), None, BIND, None):
            raise OSError(ctypes.get_errno(), "mount", str(NAME_SERVICES))


def main(command: list[str]) -> None:
    """Become this command; `--inside`, its first word, says that the network is cut already."""
    if command[0] == "--inside":
        raise_loopback()
        look_up_hosts_in_files()
        ctypes.CDLL(None).prctl(AMBIENT, CLEAR_ALL, 0, 0, 0)  # what was kept for the line before
        command = command[1:]
    elif cut := next(filter(can_cut, CUTS), None):
        command = [*cut, sys.executable, __file__, "--inside", *command]
    else:
        print("the network is not cut: this system does not allow it", flush=True)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
