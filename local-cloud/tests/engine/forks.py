"""What the tests of forked replicas share: plans of replicas that are forked, or started."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import Job, Plan, Replica
from local_cloud.engine.warm import fork_process, fork_server, warm_start
from tests.engine.support import until

# Says all that a replica may know of itself; numpy was there before it began, or was not.
TELLS = """
import sys
before = "numpy" in sys.modules
import os, pickle
class Mine: pass
mine = pickle.loads(pickle.dumps(Mine()))
print(sorted((n, v) for n, v in os.environ.items() if n not in VARIES))
print(__name__, sys.argv[1:], os.path.basename(sys.argv[0]), os.getcwd() == os.environ["HERE"])
print(os.getpid() == os.getsid(0) == os.getpgid(0), sys.stdin.read() == "")
print(sorted(os.listdir("/proc/self/fd")))
print(sys.path[0] == os.environ["FIRST"], sys.path[1])
print(sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, sys.path[1:])
print("warm" if before else "cold", file=sys.stderr)
sys.exit(7)
""".replace("VARIES", repr(("HOME", "TMPDIR", "LOCAL_CLOUD_JOB", "COLD")))

WITH_TORCH = fork_server.IMPORTED


@pytest.fixture(autouse=True)
def lighter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch, where a test does not look for it, a process is ready sooner.

    Every replica is forked then, unless its variables have COLD.
    """
    monkeypatch.setattr(fork_server, "IMPORTED", ("numpy",))
    monkeypatch.setattr(fork_server, "FREE", 0)  # whatever else this machine does
    monkeypatch.setattr(warm_start, "suits", lambda one, *_: "COLD" not in one.environment)


@pytest.fixture
def with_torch(lighter: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork_server, "IMPORTED", WITH_TORCH)


def plan(*command: str, hot: bool = True, folder: Path | None = None, **environment: str) -> Plan:
    variables = environment if hot else {**environment, "COLD": "1"}
    return Plan((Replica("r", (sys.executable, *command), variables, folder),))


async def ended(engine: JobQueue, name: str) -> tuple[Job, str]:
    engine.submit("cloud", name, 1)
    job = await until(engine, name)
    return job, said(engine.log(name, "r"))


def said(log: Path) -> str:
    """Return what a replica wrote itself."""
    return log.read_text().removeprefix(f"{fork_process.NOTE}\n")


def only(engine: JobQueue) -> fork_server.WarmProcess:
    """Return the process that forks; there is one."""
    (process,) = engine._fork_server.processes.values()
    return process
