"""An engine in a machine of the test's own (machine.py), and jobs that attack that machine.

`python attacks.py FOLDER PLACE …` writes files into the places, has jobs attack, and prints as
JSON what each could do, and what of the machine has changed afterwards.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from local_cloud.engine.spec import JobContext, Plan, Replica
from local_cloud.engine.warm import fork_server, warm_start
from tests.engine.archives import sdist
from tests.engine.support import Cloud, alive, engine, until

HOSTILE = Path(__file__).with_name("hostile.py")
KEYS = (
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".config/gcloud/application_default_credentials.json",
    ".local/share/keyrings/login.keyring",
    "notebook.ipynb",
)
ROOT = Path(__file__).parents[3]
REMOVED = (str(Path.home()), str(ROOT / "testing"), "/dev", "/opt", "/etc", "/")


class Attackers(Cloud):
    """Jobs that see what the engine shows them, and not the test's folder besides."""

    def stage(self, job_id: str, context: JobContext) -> Plan:
        made = self.plans[job_id]
        return made if isinstance(made, Plan) else made(context)


def keep(path: Path) -> Path:
    """Write what is to be the same afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"kept in {path}")
    return path


def victim() -> int:
    """A process whose number is none of a job's own, which are small."""
    while (process := subprocess.Popen(["sleep", "60"])).pid < 200:
        process.kill()
        process.wait()
    return process.pid


def facts(folder: Path, places: list[str]) -> dict[str, Any]:
    """What the jobs are told; see hostile.py."""
    kept = [keep(Path.home() / name) for name in KEYS]
    kept += [keep(folder / "secret"), keep(folder / "engine/jobs/other/r/data")]
    return {
        "places": places,
        "secrets": [*map(str, kept), str(folder / "engine/records.db")],
        "processes": [victim()],
        "late": "/gcs/late",
        "remove": REMOVED,
    }


def changes(kept: list[Path], places: list[str], bucket: Path, process: int) -> list[str]:
    """What of the machine is not as it was."""
    problems = [f"{path} has changed" for path in kept if path.read_text() != f"kept in {path}"]
    problems += [
        f"{each} is gone" for each in (ROOT / "testing", Path("/etc/passwd")) if not each.exists()
    ]
    problems += [f"{place} was written" for place in places if Path(place, "hostile").exists()]
    if not Path("/dev/null").is_char_device():
        problems.append("/dev/null was replaced")
    if not alive(process):
        problems.append("a process was ended")
    late = bucket / "late"
    before = late.read_text() if late.exists() else ""
    time.sleep(1.0)
    if late.exists() and late.read_text() != before:
        problems.append("a daemon has outlived its job")
    return problems


def plans(told: dict[str, Any], folder: Path, bucket: Path) -> dict[str, Any]:
    """A job that is started, one that is forked, and one that is attacked while it is staged."""
    command = (sys.executable, str(HOSTILE), json.dumps(told))
    cold = Replica("r", command, {"COLD": "1"}, mounts={"/gcs": bucket}, reads=(HOSTILE,))
    warm = Replica("r", command, {}, mounts={"/gcs": bucket}, reads=(HOSTILE,))
    setup = f"import sys; sys.argv[1:] = [{json.dumps(told)!r}]\n{HOSTILE.read_text()}"
    packed = sdist(folder / "packed.tar.gz", setup=setup.replace("from __future__", "#"))

    def staged(context: JobContext) -> Plan:
        context.install([str(packed)])
        return Plan((Replica("r", ("true",), {}),))

    return {"cold": Plan((cold,)), "warm": Plan((warm,)), "setup": staged}


async def attack(folder: Path, places: list[str]) -> None:
    bucket = folder / "bucket"
    bucket.mkdir(parents=True)
    told = facts(folder, places)
    kept = [Path(path) for path in told["secrets"][:-1]]
    kept += [keep(Path(place, "kept")) for place in places if os.access(place, os.W_OK)]
    could: dict[str, Any] = {}
    async with engine(folder / "engine", Attackers(**plans(told, folder, bucket))) as here:
        for name in ("cold", "warm", "setup"):
            here.submit("cloud", name, 1)
            job = await until(here, name)
            assert job.outcome
            if name == "setup":
                could[name] = job.outcome.message
            else:
                log = here.log(name, "r").read_text()
                lines = [line for line in log.splitlines() if line.startswith("{")]
                could[name] = json.loads(lines[0]) if lines else {"no answer": log}
        level = here.isolation.level
        began_warm = bool(here._fork_server.processes)
    changed = changes(kept, places, bucket, *told["processes"])
    print(json.dumps({"could": could, "changed": changed, "level": level, "warm": began_warm}))


if __name__ == "__main__":
    fork_server.IMPORTED = ("numpy",)
    fork_server.FREE = 0
    warm_start.suits = lambda one, *_: "COLD" not in one.environment  # type: ignore[assignment]
    asyncio.run(asyncio.wait_for(attack(Path(sys.argv[1]), sys.argv[2:]), 120))
