"""Another user of the host tries to get at the local cloud (testing/attack.py)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, Home
from local_cloud.engine.isolation import job_network
from local_cloud.engine.isolation.roots import SENTENCES, Level
from testing.other_user import Stranger, count
from testing.tally import Tally
from tests.torture.rig import BUCKET, ENDED, Rig, processes
from tests.torture.tables import SCRIPT, table

HYPERTUNE = (
    "import hypertune; hypertune.HyperTune().report_hyperparameter_tuning_metric('a', 0.5); "
    "print('reported')"
)


def run(folder: Path, seconds: float) -> Tally:
    """All attacks, against a server with a job of each cloud and one of two replicas."""
    tally = Tally("second user")
    try:
        stranger = Stranger()
    except LookupError as problem:
        tally.skipped = str(problem)
        return tally
    # The owner's own umask counts too: it is what a shared machine has.
    os.umask(0o022)
    with Rig(folder / "second-user", tally) as rig:
        _look(rig, stranger, tally, max(2.0, seconds / 8))
        _replicas(rig, stranger, tally, folder, max(5.0, seconds / 4))
        _link(rig, stranger, tally, folder)
        _restart(rig, stranger, tally, folder, max(5.0, seconds / 4))
    return tally


def _look(rig: Rig, stranger: Stranger, tally: Tally, seconds: float) -> None:
    """Files, processes and requests, while jobs run and a notebook works."""
    sleep = ["python", "-c", "import time; time.sleep(600)"]
    jobs = [rig.send(sleep), rig.train("look", sleep)]
    with _notebook(rig.home, "while True: list(client.list_buckets()); time.sleep(0.05)"):
        shown = control.status(rig.home).facts
        files = [str(p.relative_to(rig.home.folder)) for p in rig.home.folder.rglob("*")][:300]
        facts = {"home": str(rig.home.folder), "secret": rig.home.secret(), "port": rig.port}
        stranger.attack(tally, "files", files=files, **facts)
        stranger.attack(tally, "processes", pids=[shown["pid"]], seconds=seconds, **facts)
        wrong = rig.home.secret()[::-1]
        stranger.attack(tally, "requests", wrong=wrong, count=300, **facts)
    for job in jobs:
        _cancel(rig, job)


def _replicas(rig: Rig, stranger: Stranger, tally: Tally, folder: Path, seconds: float) -> None:
    """A job of two replicas: strangers talk to its ports, and one comes before the second does."""
    table(data := folder / "stranger.npz")
    rig.store(data.name, data.read_bytes())
    rig.store(SCRIPT.name, SCRIPT.read_bytes())
    script, rows = f"/gcs/{BUCKET}/{SCRIPT.name}", f"/gcs/{BUCKET}/{data.name}"
    train = ["python", script, "--train", rows, "--val", rows, "--model_dir", "."]
    loot = folder / "loot"
    loot.mkdir(exist_ok=True)
    loot.chmod(0o777)
    joined, said = loot / "joined", loot / "said"
    private = job_network.available()
    # The second one comes when the stranger has had his time.
    late = ["sh", "-c", f"sleep {seconds + 5:.0f}; exec " + " ".join(train)]
    job = rig.send(train, late)
    if ports := _ports(rig, 1):
        facts = {"loot": str(joined), "private": private}
        stranger.attack(tally, "rendezvous", port=ports[0], seconds=seconds, **facts)
    state = rig.wait(job, seconds + 150)
    tally.check(bool(ports), "rendezvous: no port was found, so nothing was tried")
    # A job to whose ports nobody comes is not disturbed; else it ends, as it may.
    well = state in (ENDED[:1] if private else ENDED)
    tally.check(
        well, f"rendezvous: the job has ended badly, or not: {state}: {rig.end_of_log(job)}"
    )
    # Long enough for the stranger; then it is stopped, and resumes nothing.
    long = [*train, "--epochs", "1000000", "--patience", "0"]
    job = rig.send(long, long)
    if ports := _ports(rig, 2):
        time.sleep(3)  # they have met, and train
        ports = _ports(rig, 2)
        facts = {"loot": str(said), "private": private, "pids": processes(rig)}
        stranger.attack(tally, "ports", ports=ports, seconds=seconds / 2, **facts)
    tally.check(bool(ports), "ports: none were found, so nothing was tried")
    state, log = rig.state(job), rig.end_of_log(job)
    tally.check(state == "JOB_STATE_RUNNING", f"ports: the job does not train on: {state}: {log}")
    _cancel(rig, job)
    for path in (joined, said):
        if path.exists():
            tally.lets_in(f"{path.name}: a replica has run what a stranger sent")


def _ports(rig: Rig, least: int) -> list[int]:
    """The ports on which replicas listen, as soon as there are so many; none in the end."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        ports = set().union(*map(_listening, processes(rig))) - {rig.port, job_network.PROXY}
        if job_network.available():  # an equal number here is somebody else's
            ports -= _in_the_network_of("self")
        if len(ports) >= least:
            return sorted(ports)
        time.sleep(0.05)
    return []


def _listening(pid: int) -> set[int]:
    """The ports on which a process listens, or others of its own network."""
    try:
        if os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net"):
            return _in_the_network_of(str(pid))
        lines = psutil.Process(pid).net_connections("tcp")
    except (psutil.Error, OSError):  # it has ended
        return set()
    return {line.laddr.port for line in lines if line.status == psutil.CONN_LISTEN}


def _in_the_network_of(pid: str) -> set[int]:
    """The ports on which anything listens in the network of this process."""
    ports = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            if state == "0A":  # TCP_LISTEN
                ports.add(int(local.rpartition(":")[2], 16))
    return ports


def _link(rig: Rig, stranger: Stranger, tally: Tally, folder: Path) -> None:
    """Links in /tmp, under names that jobs use, to a file that only the owner may change."""
    target = folder / "owners"
    target.write_text("untouched")
    target.chmod(0o644)
    if Path("/tmp/hypertune").exists():
        tally.skipped = "links in /tmp/hypertune, for that folder is there already"
        return
    with stranger.start("links", names=["hypertune/output.metrics"], target=str(target)) as process:
        assert process.stdout
        process.stdout.readline()
        state = rig.wait(rig.send(["python", "-c", HYPERTUNE]), 60)
        count(tally, "links", process)
    # In a /tmp of its own the job meets no link; else it may fail.
    has_own_tmp = SENTENCES[Level.UNPROTECTED] not in rig.get("/status")["isolation"]
    well = state in (ENDED[:1] if has_own_tmp else ENDED)
    tally.check(well, f"links: the job has ended badly, or not: {state}")
    if target.read_text() != "untouched":
        tally.lets_in("links: a job has written where a stranger's link in /tmp led it")


def _restart(rig: Rig, stranger: Stranger, tally: Tally, folder: Path, seconds: float) -> None:
    """The stranger takes the port as the server stops, and hears what clients say to it."""
    old, flag = rig.home.secret(), folder / "over"
    facts = {"port": rig.port, "seconds": seconds, "flag": str(flag)}
    code = (
        "while True:\n"
        "    try: list(client.list_buckets(timeout=1, retry=None))\n"
        "    except Exception: time.sleep(0.05)"
    )
    with _notebook(rig.home, code), stranger.start("port", **facts) as process:
        assert process.stdout
        process.stdout.readline()  # ready
        rig.stop()
        if process.stdout.readline().strip() != "taken":
            tally.breaks("port: the stranger did not get it, so nothing was tried")
        control.status(rig.home)
        rig.start()
        control.status(rig.home)
        time.sleep(seconds / 4)
        flag.touch()
        said, _ = process.communicate(timeout=120)
    heard = next((json.loads(s)["heard"] for s in said.splitlines() if "heard" in s), None)
    if heard is None:
        tally.breaks("port: the attack itself failed")
        return
    tally.check(rig.port != facts["port"], "port: the server says it has the stranger's port")
    new = rig.home.secret()
    tally.check(new != old, "port: the secret is the same after the port was lost")
    if new in heard or (old in heard and new == old):
        tally.lets_in("port: the stranger has heard a secret that is valid")
    else:
        tally.survives()


@contextlib.contextmanager
def _notebook(home: Home, code: str) -> Iterator[None]:
    """A process with the real SDK, pointed at the local cloud, that does this."""
    before = (
        "import time, local_cloud; local_cloud.activate()\n"
        "from google.cloud import storage; client = storage.Client()\n"
        "print('ready', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", before + code],
        cwd=CHECKOUT,
        env=os.environ | {"LOCAL_CLOUD_HOME": str(home.folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


def _cancel(rig: Rig, job: str) -> None:
    if "/" in job:
        rig.ask("POST", f"/v1/{job}:cancel", {})
    else:
        rig.sagemaker("StopTrainingJob", {"TrainingJobName": job})
    rig.wait(job, 60)
