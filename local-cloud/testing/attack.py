"""What another user of the host tries: `python -m testing.attack UID NAME`.

Its facts are on stdin. Started as root it imports what the attack needs, becomes the other user,
and then attacks. Prints JSON: how much was tried, and a sentence for each time that it got in.
"""

from __future__ import annotations

import contextlib
import ctypes
import encodings.idna  # noqa: F401 - what the attacks need, for later nothing can be imported
import http.client
import json
import os
import pickle
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

Facts = dict[str, Any]


class Report:
    """What was tried, and what came of it."""

    def __init__(self) -> None:
        self.tried = 0
        self.entered: list[str] = []

    def attempt(self, entered: bool, how: str) -> None:
        self.tried += 1
        if entered:
            self.entered.append(how)


def files(facts: Facts, report: Report) -> None:
    """Read, list or change anything below the home folder, and what lies in temporary folders."""
    home = Path(facts["home"])
    names = ["", "secret", "address.json", "server.log", "lock", "data", "data/records.sqlite"]
    for name in [*names, *facts["files"]]:
        for mode in (os.R_OK, os.W_OK, os.X_OK):
            report.attempt(os.access(home / name, mode), f"may use {name or 'the folder'} ({mode})")
    with contextlib.suppress(OSError):
        (home.parent / f"{home.name}.x").rename(home)
        report.attempt(True, "the home was replaced")
    for folder in (Path("/tmp"), Path("/dev/shm"), Path("/var/tmp")):
        for path in folder.glob("lc-*") if folder.exists() else ():
            report.attempt(os.access(path, os.R_OK), f"may read {path}")
    for path in Path("/dev/shm").glob("*"):
        with contextlib.suppress(OSError):
            mine = path.stat().st_uid == os.getuid()
            report.attempt(not mine and os.access(path, os.R_OK), f"may read {path}")


def processes(facts: Facts, report: Report) -> None:
    """Find the secret in any process's arguments, variables, memory or open files; end one."""
    secret, end = facts["secret"].encode(), time.monotonic() + facts["seconds"]
    while time.monotonic() < end:
        for folder in Path("/proc").glob("[0-9]*"):
            if folder.name == str(os.getpid()):
                continue
            for name in ("cmdline", "environ", "comm", "status", "maps", "wchan"):
                with contextlib.suppress(OSError):
                    content = (folder / name).read_bytes()
                    report.attempt(secret in content, f"the secret is in {folder}/{name}")
            for name in ("cwd", "root", "exe", "fd/4"):
                with contextlib.suppress(OSError):
                    link = os.readlink(folder / name)
                    report.attempt(facts["secret"] in link, f"the secret is in {folder}/{name}")
        time.sleep(0.1)
    for pid in facts["pids"]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, 0)
            report.attempt(True, f"may send signals to process {pid}")
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb"):
            report.attempt(True, f"may read the memory of process {pid}")
        report.tried += 2


def requests(facts: Facts, report: Report) -> None:
    """Ask without the secret, with wrong ones, from foreign pages, and in no language at all."""
    chosen, port = random.Random(0), facts["port"]
    paths = ["/", "/status", "/stop", "/storage/v1/b", "/aws/", "/v1/projects/p", "//", "/%2e%2e/"]
    words = ["", "x" * 43, "..", "%00", "null", "secret", facts["wrong"], facts["wrong"][:-1]]
    for _ in range(facts["count"]):
        path = f"/{chosen.choice(words)}{chosen.choice(paths)}"
        headers = {
            "Host": chosen.choice([f"127.0.0.1:{port}", "evil.example", f"localhost:{port}", ""]),
            "Origin": chosen.choice(["http://evil.example", "null", f"http://127.0.0.1:{port}"]),
            "Authorization": "Bearer x",
            "X-Forwarded-For": "127.0.0.1",
        }
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with (
            contextlib.closing(connection),
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            method = chosen.choice(["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
            connection.request(method, path, b"{}", headers)
            answer = connection.getresponse()
            body = answer.read()
            well = answer.status in (400, 403, 404, 405)
            report.attempt(not well, f"{method} {path} was answered with {answer.status}")
            report.attempt(facts["secret"].encode() in body, f"{path}: the answer holds the secret")
    for noise in (b"\x80\x02]q\x00.", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n", bytes(999)):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as line:
            line.settimeout(2)
            line.sendall(noise)
            report.attempt(b"200 OK" in line.recv(999), f"{noise[:9]!r} was answered")


def port(facts: Facts, report: Report) -> None:
    """Take the server's port, as soon as it is free and before; keep what clients then say."""
    for family, where in (
        (socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0"),
    ):
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            with socket.socket(family) as early:
                early.setsockopt(socket.SOL_SOCKET, option, 1)
                with contextlib.suppress(OSError):
                    early.bind((where, facts["port"]))
                    early.listen()
                    report.attempt(True, f"shares the port of the running server at {where}")
            report.tried += 1
    print("ready", flush=True)
    listener = _taken(facts["port"], time.monotonic() + facts["seconds"])
    print("taken" if listener else "not taken", flush=True)
    if not listener:
        return
    end, heard = time.monotonic() + 120, b""  # a busy machine starts a server slowly
    listener.settimeout(0.2)
    while time.monotonic() < end and not Path(facts["flag"]).exists():
        with contextlib.suppress(OSError):
            line, _ = listener.accept()
            with line:
                line.settimeout(0.5)
                heard += line.recv(65536) + b"\n"
                line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    print(json.dumps({"heard": heard.decode("latin-1")}), flush=True)


def _taken(number: int, end: float) -> socket.socket | None:
    while time.monotonic() < end:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", number))
        except OSError:
            listener.close()
            time.sleep(0.001)
        else:
            listener.listen()
            return listener
    return None


def ports(facts: Facts, report: Report) -> None:
    """Say things to every port of a job's replicas: HTTP, pickles, noise, and nothing at all.

    Where the job has a network of its own, nobody is to answer, and nobody can enter it.
    """
    for pid in facts["pids"] if facts["private"] else ():
        report.attempt(_entered(pid), f"entered the network of process {pid}")
    bomb, end = pickle.dumps(Trap(facts["loot"])), time.monotonic() + facts["seconds"]
    long = len(bomb).to_bytes(8, "little") + bomb
    silent = []
    while time.monotonic() < end:
        for number in facts["ports"]:
            for words in (b"GET / HTTP/1.1\r\n\r\n", bomb, bytes(64), long, b""):
                with contextlib.suppress(OSError):
                    report.tried += 1
                    line = socket.create_connection(("127.0.0.1", number), 0.5)
                    if facts["private"]:
                        report.entered.append(f"port {number} of a job's own network answers")
                    line.sendall(words)
                    if words or len(silent) > 100:
                        line.close()
                    else:
                        silent.append(line)
        time.sleep(0.05)


def _entered(pid: int) -> bool:
    """Whether this process could enter the network of another one."""
    with contextlib.suppress(OSError):
        network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        return ctypes.CDLL(None).setns(network, 0) == 0
    return False


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, loot: str) -> None:
        self.loot = loot

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.loot}'",)


def rendezvous(facts: Facts, report: Report) -> None:
    """Join a job as the rank that has not come yet, and send everybody a pickle."""
    with contextlib.suppress(OSError):
        report.tried += 1
        socket.create_connection(("127.0.0.1", facts["port"]), 5).close()
        if facts["private"]:
            report.entered.append(f"port {facts['port']} of a job's own network answers")
    report.attempt(False, "")
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            _join(facts["port"], Trap(facts["loot"]))
        os._exit(0)
    stop = time.monotonic() + facts["seconds"]
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > stop:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)


def _join(port: int, trap: Trap) -> None:
    """As torch's rendezvous has it: whoever comes and says so is that rank."""
    import torch.distributed as dist

    where, short = f"tcp://127.0.0.1:{port}", timedelta(seconds=10)
    dist.init_process_group("gloo", init_method=where, rank=1, world_size=2, timeout=short)
    dist.all_gather_object([None, None], trap)
    dist.broadcast_object_list([trap], src=1)


def links(facts: Facts, report: Report) -> None:
    """Lay links under the names that jobs may use in /tmp, to a file of the victim's."""
    for name in facts["names"]:
        path = Path("/tmp") / name
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o777, parents=True)
        with contextlib.suppress(OSError):
            path.symlink_to(facts["target"])
            report.tried += 1
    print("laid", flush=True)
    sys.stdin.read()
    for name in facts["names"]:
        with contextlib.suppress(OSError):
            (Path("/tmp") / name).unlink()
        with contextlib.suppress(OSError):
            (Path("/tmp") / name).parent.rmdir()


def kernels(facts: Facts, report: Report) -> None:
    """Listen to what kernels publish, write into them, and ask their JupyterLab without its token.

    In every output is `marker`; `forged` must appear in none.
    """
    import zmq

    end, context = time.monotonic() + facts["seconds"], zmq.Context()
    context.setsockopt(zmq.LINGER, 0)  # what nobody takes does not keep the attack from its end
    listener = context.socket(zmq.SUB)
    listener.subscribe(b"")
    speaker = context.socket(zmq.PUSH)
    speaker.setsockopt(zmq.SNDTIMEO, 200)
    for number in facts["ports"]:
        listener.connect(f"tcp://127.0.0.1:{number}")
        speaker.connect(f"tcp://127.0.0.1:{number}")
        report.attempt(False, "")
    for path in facts["paths"]:
        listener.connect(f"ipc://{path}")
        report.attempt(os.access(path, os.R_OK | os.W_OK), f"may open {path}")
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as line:
            line.connect(path)
            report.attempt(True, f"may connect to {path}")
    for path in (
        "/api",
        "/api/kernels",
        "/api/sessions",
        "/api/terminals",
        "/api/contents",
        "/lab",
    ):
        connection = http.client.HTTPConnection("127.0.0.1", facts["lab"], timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", path)
            body = connection.getresponse().read()
            told = any(fact.encode() in body for fact in (facts["marker"], *facts["ids"]))
            report.attempt(told, f"GET {path} tells what only the owner may know")
    marker = facts["marker"].encode()
    while time.monotonic() < end:
        with contextlib.suppress(zmq.Again):
            speaker.send_multipart([b"", facts["forged"].encode()])
        if listener.poll(100):
            report.attempt(marker in b"".join(listener.recv_multipart()), "an output was read")


ATTACKS: dict[str, Callable[[Facts, Report], None]] = {
    attack.__name__: attack
    for attack in (files, processes, requests, port, ports, rendezvous, links, kernels)
}


def main() -> None:
    """Become the other user and attack."""
    uid, name = int(sys.argv[1]), sys.argv[2]
    facts = json.loads(sys.stdin.readline())
    if name == "rendezvous":
        import torch.distributed  # noqa: F401 - once it is another user, it may not be readable
    if name == "kernels":
        import zmq  # noqa: F401
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    assert os.getuid() == uid, "this is not the other user"
    os.chdir("/")
    report = Report()
    ATTACKS[name](facts, report)
    print(json.dumps({"tried": report.tried, "entered": report.entered}), flush=True)


if __name__ == "__main__":
    main()
