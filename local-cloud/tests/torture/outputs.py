"""Jobs that leave what cannot be packed, and processes that do not want to end."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

import psutil

from local_cloud.engine.processes.control_groups import own_group
from local_cloud.store import trees
from testing.tally import Tally
from tests.escapes import ESCAPES
from tests.torture.rig import ENDED, Rig, processes

PROMPT = 60.0  # seconds in which a job that is stopped ends, and the next one starts and ends
GRACE = 20.0  # in which the server ends, whatever it does just then
BEGIN = "import os, socket, sys, time\nos.chdir('/opt/ml/model')\n"
LEFT = "all is left"
END = f"\nprint({LEFT!r}, flush=True)"
# What a job does; each is sent twice, and the second one is stopped in the middle.
JOBS = {
    "sparse": "open('huge', 'wb').truncate(300 * 10**9)",
    "sparse-output": "open('/opt/ml/output/data/huge', 'wb').truncate(300 * 10**9)",
    "many-sparse": "[open(f'{n}', 'wb').truncate(10**9) for n in range(30)]",
    "deep": "for _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')",
    "deepest": "for _ in range(5000):\n    os.mkdir('d')\n    os.chdir('d')",
    "closed": "os.makedirs('a/b')\nopen('a/b/c', 'w').close()\nos.chmod('a', 0)",
    "special": (
        "os.mkfifo('pipe')\nos.symlink('/dev/zero', 'zeros')\nos.symlink('loop', 'loop')\n"
        "socket.socket(socket.AF_UNIX).bind('socket')\nopen(b'\\xff\\n', 'w').close()\n"
        "os.mkfifo('../output/failure')\n"
        "try:\n    os.mknod('device', 0o020600, os.makedev(1, 5))\nexcept OSError:\n    pass"
    ),
    "growing": (
        "if os.fork() == 0:\n    os.setsid()\n    file = open('growing', 'wb')\n"
        "    while True:\n        file.write(bytes(1000))\n        time.sleep(0.001)\n"
        "time.sleep(0.5)"
    ),
    "processes": (
        "for _ in range(400):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        if os.fork() == 0:\n            time.sleep(100)\n        os._exit(0)\n"
        "    os.wait()"
    ),
    "many-files": "for n in range(60_000):\n    open(f'{n}', 'w').close()",
    "slow-to-pack": "file = open('zeros', 'wb')\nfile.truncate(8 * 10**9)",
}


def run(folder: Path, seconds: float) -> Tally:
    """Send each job, stop every second one, and one after each; end the server in the middle.

    seconds: after which no further job is sent.
    """
    tally = Tally("outputs")
    home = Path(tempfile.mkdtemp(prefix="outputs-", dir=folder))
    end = time.monotonic() + seconds
    try:
        with Rig(home / "home", tally) as rig:
            _escape(rig, tally)
            for name, code in JOBS.items():
                if time.monotonic() > end:
                    tally.skipped = f"{name} and what follows, for want of time"
                    break
                for stopped in (False, True):
                    _play(rig, tally, f"{name}-{int(stopped)}", code, stopped=stopped)
            _end_in_the_middle(rig, tally)
    finally:
        trees.remove(home)
    return tally


def _play(rig: Rig, tally: Tally, name: str, code: str, *, stopped: bool) -> None:
    """Run one job, which is perhaps stopped, and another one after it."""
    _send(rig, name, BEGIN + code + END)
    if stopped:
        _until_it_uploads(rig, name)
        rig.sagemaker("StopTrainingJob", {"TrainingJobName": name})
        rig.sagemaker("StopTrainingJob", {"TrainingJobName": name})
    state = rig.wait(name, PROMPT if stopped else 3 * PROMPT)
    tally.check(state in ENDED, f"{name} has not ended: {state}")
    log = rig.end_of_log(name)
    tally.check(LEFT in log, f"{name} has not left what it was to leave: {log}")
    tally.check(not processes(rig, name), f"{name} has ended, and processes of it run")
    about = rig.sagemaker("DescribeTrainingJob", {"TrainingJobName": name})[1].decode()
    faulty = "made a mistake" in about or "RecursionError" in about
    tally.check(not faulty, f"{name}: the message speaks of a mistake of the local cloud's")
    after = rig.train(f"after-{name}", ["true"])
    state = rig.wait(after, PROMPT)
    tally.check(state == ENDED[0], f"the job after {name} has not succeeded: {state}")


def _send(rig: Rig, name: str, code: str) -> None:
    """Send a job that runs this code."""
    rig.train(name, rig.store_program(f"{name}.py", code))


def _until_it_uploads(rig: Rig, name: str) -> str:
    """Wait until the job's results are brought away, or it has ended; its status then."""
    end, status = time.monotonic() + PROMPT, ""
    while status not in ("Uploading", "Completed", "Failed") and time.monotonic() < end:
        time.sleep(0.05)
        body = rig.sagemaker("DescribeTrainingJob", {"TrainingJobName": name})[1]
        status = json.loads(body).get("SecondaryStatus", "")
    return status


def _escape(rig: Rig, tally: Tally) -> None:
    """A process that leaves its session, environment and root ends with its job."""
    if not own_group():
        tally.skipped = "escaping processes, for this user may make no control groups"
        return
    number = time.time_ns() % 10**9
    _send(rig, "escapes", ESCAPES.replace("SECONDS", f"100.{number}"))
    rig.wait("escapes", PROMPT)
    log = rig.end_of_log("escapes")
    tally.check(log.rstrip().endswith(" 0"), f"no process has left the root of its job: {log}")
    escaped = [one for one in psutil.process_iter() if _sleeps(one, f"100.{number}")]
    tally.check(not escaped, "a process has outlived its job")
    for one in escaped:
        one.kill()


def _sleeps(process: psutil.Process, seconds: str) -> bool:
    try:
        return process.cmdline() == ["sleep", seconds]
    except psutil.Error:
        return False


def _end_in_the_middle(rig: Rig, tally: Tally) -> None:
    """The server ends soon although it packs something large, and starts again."""
    _send(rig, "last", BEGIN + JOBS["slow-to-pack"])
    status = _until_it_uploads(rig, "last")
    tally.check(status == "Uploading", f"the server was not in the middle of packing: {status}")
    began = time.monotonic()
    rig.stop()
    passed = time.monotonic() - began
    tally.check(passed < GRACE, f"the server took {passed:.0f} s to end")
    rig.start()
    state = rig.state("last")
    tally.check(state in ENDED, f"the job that was cut off is {state}")
