"""Networks with nothing but loopback, for processes that nobody outside is to reach.

Runs as a script with the standard library only (`python -I -S`), in the process that becomes the
command, in one of three ways:

    network_namespace.py serve LINE PORTS COMMAND …   a network for this command alone
    network_namespace.py make LINE PORTS              a network that several commands can enter
    network_namespace.py enter FDS COMMAND …          the command in a network that was made

Nobody outside a network can connect to what listens in it, on whatever port, and commands in two
networks can listen on the same port. LINE: the number of a Unix socket. Over it go out listening
sockets for PORTS (as JSON), which the other end serves: they are the only way out. `make` sends
the network's own descriptors behind them, which are FDS (as JSON) for `enter`. `serve` sends, for
each byte that arrives, an unconnected TCP socket of the network, with which the other end connects
to the command.
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
from collections.abc import Sequence

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # <linux/sched.h>
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40  # <linux/sockios.h>, <linux/if.h>

libc = ctypes.CDLL(None, use_errno=True)


def own_network() -> list[str]:
    """Give this process a network with nothing but loopback; return the namespaces that are new.

    In the order in which another process has to enter them. Only root gets a network without a
    user namespace.
    """
    user, group = os.geteuid(), os.getegid()
    new = ["net"]
    if libc.unshare(CLONE_NEWNET) == -1:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1:
            raise OSError(ctypes.get_errno(), "unshare")
        maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
        for name, text in maps.items():
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
        new = ["user", "net"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        flags = struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, flags)
    return new


def listen(ports: str) -> list[socket.socket]:
    """Return sockets that listen on these ports (as JSON) of the network."""
    return [socket.create_server(("127.0.0.1", port)) for port in json.loads(ports)]


def serve(number: str, ports: str, *command: str) -> None:
    """Enter a new network, leave a child to send out sockets, and become the command."""
    line = socket.socket(fileno=int(number))
    line.set_inheritable(False)  # the command does not get it
    own_network()
    listeners = listen(ports)
    socket.send_fds(line, [b"."], [each.fileno() for each in listeners])
    if os.fork() == 0:
        for each in listeners:
            each.close()
        dial(line)
        os._exit(0)
    become(command)


def dial(line: socket.socket) -> None:
    """Send out a socket of this network for each byte that arrives, until the line ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while line.recv(1):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as fresh:
            socket.send_fds(line, [b"."], [fresh.fileno()])


def make(number: str, ports: str) -> None:
    """Make a network, which is there as long as somebody holds what is sent out."""
    new = own_network()
    listeners = [each.detach() for each in listen(ports)]
    namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in new]
    with socket.socket(fileno=int(number)) as line:
        socket.send_fds(line, [b"."], [*listeners, *namespaces])


def enter(descriptors: Sequence[int]) -> None:
    """Bring this process into the namespaces that `make` has sent out."""
    for each in descriptors:
        if libc.setns(each, 0) == -1:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(each)


def become(command: tuple[str, ...]) -> None:
    """Become the command; exit with 127, as a shell does, if there is none."""
    program = command[0] if command else ""
    try:
        os.execvp(program, command)
    except (OSError, ValueError) as problem:
        print(f"The replica cannot be started: {problem}: {program!r}", file=sys.stderr)
        sys.exit(127)


def main() -> None:
    """Do what the first argument says."""
    _, way, *words = sys.argv
    if way == "serve":
        serve(*words)
    elif way == "make":
        make(*words)
    else:
        enter(json.loads(words[0]))
        become(tuple(words[1:]))


if __name__ == "__main__":
    main()
