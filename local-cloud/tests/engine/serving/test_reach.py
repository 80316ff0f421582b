"""Who reaches a served replica, what it reaches, and that no answer holds the secret."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from local_cloud.engine.isolation import network
from local_cloud.engine.serving.spec import Unanswered
from tests import stranger
from tests.engine.serving.test_deployments import (
    EP,
    Models,
    ask,
    process_of,
    run,
    served,
    serving,
    until,
)
from tests.stranger import needs_a_stranger


@pytest.mark.parametrize("status", [200, 400, 500])
def test_no_answer_of_a_model_holds_the_secret(tmp_path: Path, status: int) -> None:
    """Its process has the secret in its environment, and may say anything, also in an error."""

    async def test() -> None:
        async with serving(tmp_path, Models({"blue": served()})) as here:
            here._engine.hidden = b"the-secret"
            here.deploy("cloud", EP, "blue")
            here.set_traffic(EP, {"blue": 100})
            answer = await ask(here, say="http://127.0.0.1:1/the-secret/aws", status=status)
            assert answer["say"] == "http://127.0.0.1:1/SECRET****/aws"

    run(test)


def test_nobody_but_the_server_reaches_a_replica_and_it_reaches_what_it_may(tmp_path: Path) -> None:
    """In a network of its own, all replicas listen on one port, on which nobody else finds them."""
    if not network.available():
        pytest.skip("this machine does not let a process have a network of its own")

    async def test() -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()

        outside = await asyncio.start_server(echo, "127.0.0.1")
        port = outside.sockets[0].getsockname()[1]
        hidden = await asyncio.start_server(echo, "127.0.0.1")
        async with serving(tmp_path, Models({"blue": served(outside=(port,))})) as here:
            here.deploy("cloud", EP, "blue", minimum=2, maximum=2)
            here.set_traffic(EP, {"blue": 100})
            await until(lambda: "blue" in here._runners and here.figures("blue").replicas == 2)
            answer = await ask(here, reach=port)
            assert answer["heard"] == "from within\n"
            other = hidden.sockets[0].getsockname()[1]
            with pytest.raises(Unanswered):
                await ask(here, reach=other)  # the model's own exception closes the connection
            theirs = {each.laddr.port for each in psutil.net_connections("tcp") if each.laddr}
            assert await process_of(answer, tmp_path) not in {
                each.pid for each in psutil.net_connections("tcp") if each.status == "LISTEN"
            }
            assert port in theirs
        outside.close()
        hidden.close()

    run(test)


# Asks whatever listens on loopback for its health, as another user; prints the ports that answer as
# model_server.py does, and says whether it could enter the network of a process.
SCAN = """
import ctypes, http.client, os, sys
from concurrent.futures import ThreadPoolExecutor

def answers(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/health")
        return connection.getresponse().headers.get("Server", "").startswith("BaseHTTP")
    except (OSError, http.client.HTTPException):
        return False

fields = [line.split() for line in list(open("/proc/net/tcp"))[1:]]
ports = {int(each[1].split(":")[1], 16) for each in fields if each[3] == "0A"}
ports -= {*map(int, sys.argv[2:])}
with ThreadPoolExecutor(64) as pool:  # other tests listen too, and do not answer
    answered = [port for port, found in zip(ports, pool.map(answers, ports)) if found]
try:
    network = os.open(f"/proc/{sys.argv[1]}/ns/net", os.O_RDONLY)
    entered = ctypes.CDLL(None).setns(network, 0) == 0
except PermissionError:
    entered = False
print(answered, entered)
"""


@needs_a_stranger
def test_another_user_of_the_machine_reaches_no_replica(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not network.available():
        pytest.skip("this machine does not let a process have a network of its own")

    async def scan() -> str:
        before = [each.laddr.port for each in psutil.net_connections("tcp4") if not each.raddr]
        async with serving(tmp_path, Models({"blue": served()})) as here:
            if not list(here.deployments()):
                here.deploy("cloud", EP, "blue")
                here.set_traffic(EP, {"blue": 100})
            pid = await process_of(await ask(here), tmp_path)
            return await asyncio.to_thread(stranger.run, SCAN, str(pid), *map(str, before))

    async def test() -> None:
        assert await scan() == "[] False\n"
        monkeypatch.setattr("local_cloud.engine.isolation.network.available", lambda: False)
        assert await scan() != "[] False\n"  # the scan would see one that listens on loopback

    run(test)


def test_without_networks_of_their_own_replicas_get_free_ports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_cloud.engine.isolation.network.available", lambda: False)

    async def test() -> None:
        async with serving(tmp_path, Models({"blue": served()})) as here:
            here.deploy("cloud", EP, "blue", minimum=2, maximum=2)
            here.set_traffic(EP, {"blue": 100})
            await until(lambda: "blue" in here._runners and here.figures("blue").replicas == 2)
            assert (await ask(here, say=3))["say"] == 3

    run(test)
