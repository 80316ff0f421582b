"""The network that the replicas of a job share: who gets in, and what leads out of it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from local_cloud.engine.isolation import job_network
from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import Plan, Replica, State
from local_cloud.store.records import Records
from tests import stranger
from tests.engine.support import Cloud, engine, python, run, until, written
from tests.stranger import SCAN, needs_a_stranger

needs_a_network = pytest.mark.skipif(
    not job_network.available(), reason="no job has a network of its own on this machine"
)

# The first replica listens, as torch's rendezvous does: on all interfaces. The second one connects.
PORT = 29_512
LISTENS = (
    f"import socket; door = socket.create_server(('', {PORT})); line, _ = door.accept();"
    "print('joined', flush=True); line.recv(1)"
)
CONNECTS = f"""
import socket, time
while True:
    try:
        line = socket.create_connection(("127.0.0.1", {PORT}))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
print("joined", flush=True)
line.recv(1)
"""


@needs_a_network
@needs_a_stranger
def test_another_user_of_the_machine_reaches_no_port_of_a_job_with_two_replicas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = Cloud(a=(both := joined(LISTENS, CONNECTS)), b=both)

    async def scan(job_id: str) -> str:
        async with engine(tmp_path, cloud) as here:
            here.submit("cloud", job_id, 2)
            await written(here.log(job_id, "r1"))
            pid = str(here._runners[job_id]._attempt._started[0].process.pid)
            return await asyncio.to_thread(stranger.run, SCAN, pid, str(PORT))

    async def story() -> None:
        assert await scan("a") == "[] False\n"
        monkeypatch.setattr("local_cloud.engine.isolation.job_network.available", lambda: False)
        assert await scan("b") == f"[{PORT}] False\n"  # the same scan of the machine's loopback

    run(story())


@needs_a_network
def test_two_jobs_can_listen_on_the_same_port_and_one_replica_alone_has_the_machines_network(
    tmp_path: Path,
) -> None:
    alone = python("import os; print(os.stat('/proc/self/ns/net').st_ino)")
    cloud = Cloud(a=(both := joined(LISTENS, CONNECTS)), b=both, c=joined(alone))

    async def story() -> None:
        async with engine(tmp_path, cloud, cores=5) as here:
            for name, size in (("a", 2), ("b", 2), ("c", 1)):
                here.submit("cloud", name, size)
            for name in ("a", "b"):
                assert await written(here.log(name, "r1")) == ["joined"]
            machines = str(os.stat("/proc/self/ns/net").st_ino)
            assert await written(here.log("c", "r0")) == [machines]

    run(story())


@needs_a_network
def test_the_next_attempt_has_a_network_of_its_own_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_cloud.engine.jobs.attempt_runner.PAUSE", 0.01)
    aborts = python("import os; print(os.stat('/proc/self/ns/net').st_ino, flush=True); os.abort()")
    cloud = Cloud(a=Plan(joined(aborts, aborts).replicas, retried=frozenset({-6}), retries=1))

    async def story() -> None:
        async with engine(tmp_path, cloud) as here:
            here.submit("cloud", "a", 2)
            await until(here, "a")
            logs = "".join(path.read_text() for path in here.logs("a").values())
            networks = [line for line in logs.split("\n") if line.isdigit()]
            assert len(networks) >= 2
            assert str(os.stat("/proc/self/ns/net").st_ino) not in networks

    run(story())


class Door:
    """A server that says hello to whoever comes."""

    port = 4_321

    async def admit(self, listener: object) -> asyncio.Server:
        async def hello(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello")
            writer.close()

        return await asyncio.start_server(hello, sock=listener)  # type: ignore[call-overload]


@needs_a_network
def test_the_server_takes_connections_from_a_jobs_network_on_its_own_port(tmp_path: Path) -> None:
    asks = (
        "import socket; line = socket.create_connection(('127.0.0.1', 4321));"
        "print(line.recv(9).decode())"
    )

    async def story() -> None:
        records = Records(tmp_path / "records.db")
        here = JobQueue(tmp_path / "jobs", records, door=Door())
        await here.start({"cloud": Cloud(a=joined(asks, asks))})
        here.submit("cloud", "a", 2)
        assert (await until(here, "a")).state is State.SUCCEEDED
        for name in ("r0", "r1"):
            assert here.log("a", name).read_text() == "hello\n"
        await here.close()
        records.close()

    run(story())


# ---- the proxy ---------------------------------------------------------------------------------
class OtherHost(BaseHTTPRequestHandler):
    """Answers with the path and with what it was told about the connection."""

    def do_GET(self) -> None:
        said = f"{self.path} {self.headers['Connection']} {self.headers['Proxy-Connection']}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def other_host() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherHost) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


ASKS = """
import http.client, os, sys, urllib.error, urllib.request
host = f"127.0.0.1:{sys.argv[1]}"
print(urllib.request.urlopen(f"http://{host}/a?b=c").read().decode())
proxy = os.environ["HTTPS_PROXY"].removeprefix("http://")
tunnel = http.client.HTTPConnection(proxy)
tunnel.set_tunnel(host)  # as for HTTPS, without TLS
for _ in range(2):
    tunnel.request("GET", "/through")
    print(tunnel.getresponse().read().decode())
try:
    urllib.request.urlopen("http://127.0.0.1:1/")
except urllib.error.HTTPError as problem:
    print(problem.code, problem.reason)
line = http.client.HTTPConnection(proxy)
line.request("GET", "ftp://nowhere/")
print(line.getresponse().status)
"""


@needs_a_network
def test_replicas_reach_other_hosts_through_a_proxy(tmp_path: Path) -> None:
    with other_host() as port:
        command = (*python(ASKS), str(port))
        cloud = Cloud(a=joined(command, python("pass")))

        async def story() -> None:
            async with engine(tmp_path, cloud) as here:
                here.submit("cloud", "a", 2)
                await until(here, "a")
                one, two, three, four, five = here.log("a", "r0").read_text().splitlines()
                assert one == "/a?b=c close None"
                assert two == three == "/through None None"
                assert four.startswith("502 The local cloud cannot connect to 127.0.0.1:1: ")
                assert five == "400"

        run(story())


@needs_a_network
@pytest.mark.parametrize("where", ["('127.0.0.1', 9)", "('192.0.2.1', 5432)"])
def test_a_replica_that_reaches_no_host_is_told_why(tmp_path: Path, where: str) -> None:
    code = f"import socket; socket.create_connection({where})"

    async def story() -> None:
        async with engine(tmp_path, Cloud(a=joined(code, LISTENS))) as here:
            here.submit("cloud", "a", 2)
            outcome = (await until(here, "a")).outcome
            assert outcome and outcome.last_lines[-1] == job_network.WHY

    run(story())


# Makes a network and runs a program in it; the launcher's own text is the argument.
BY_ANYBODY = """
import os, socket, subprocess, sys
launcher = [sys.executable, "-I", "-S", "-c", sys.argv[1]]
asks = "import os, socket; socket.create_connection(('127.0.0.1', 80)); print(os.getuid())"
ours, theirs = socket.socketpair()
line = str(theirs.fileno())
subprocess.run([*launcher, "make", line, "[80]"], pass_fds=[theirs.fileno()], check=True)
listener, *namespaces = socket.recv_fds(ours, 1, 8)[1]
entering = [*launcher, "enter", str(namespaces), sys.executable, "-c", asks]
said = subprocess.run(entering, pass_fds=namespaces, stdout=subprocess.PIPE, text=True).stdout
print(len(namespaces), said, end="")
"""


@needs_a_network
@needs_a_stranger
def test_users_who_are_not_root_get_a_network_by_a_user_namespace() -> None:
    launcher = job_network.LAUNCHER.read_text(encoding="utf-8")
    assert stranger.run(BY_ANYBODY, launcher) == f"2 {stranger.NOBODY}\n"


def joined(*programs: str | tuple[str, ...]) -> Plan:
    """Replicas r0, r1, … that run this code, or these commands."""
    commands = [python(each) if isinstance(each, str) else each for each in programs]
    return Plan(tuple(Replica(f"r{n}", command, {}) for n, command in enumerate(commands)))
