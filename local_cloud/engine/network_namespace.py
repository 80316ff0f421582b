"""Become a command that has a network of its own: `network_namespace.py LINE PORTS COMMAND …`.

Runs as a script with the standard library only (`python -I -S`), in the process that becomes the
command. Nobody outside this network can connect to the command, on whatever port it listens, and
two commands can listen on the same port. LINE: the number of a Unix socket. Over it go out: the
listening sockets for PORTS (as JSON), which the other end serves, and then, for each byte that it
sends, an unconnected TCP socket of this network, with which it connects to the command.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40  # <linux/sockios.h>, <linux/if.h>


def own_network() -> None:
    """Give this process a network with nothing but loopback; unless root, in a user namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNET) == -1:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1:
            raise OSError(ctypes.get_errno(), "unshare")
        maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
        for name, text in maps.items():
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, flags)


def dial(line: socket.socket) -> None:
    """Send out a socket of this network for each byte that arrives, until the line ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while line.recv(1):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as fresh:
            socket.send_fds(line, [b"."], [fresh.fileno()])


def main() -> None:
    """Enter the network, leave a child to send out sockets, and become the command."""
    _, number, ports, *command = sys.argv
    line = socket.socket(fileno=int(number))
    line.set_inheritable(False)  # the command does not get it
    own_network()
    listeners = [socket.create_server(("127.0.0.1", port)) for port in json.loads(ports)]
    socket.send_fds(line, [b"."], [each.fileno() for each in listeners])
    if os.fork() == 0:
        for each in listeners:
            each.close()
        dial(line)
        os._exit(0)
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        print(f"{command[0]}: {problem.strerror}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
