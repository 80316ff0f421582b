"""The server is killed, suspended and stopped under notebooks, and its files are damaged.

Each time the SDKs of both clouds must work again or say so, within seconds, and nothing
acknowledged may be lost. `done` says how long the slowest call took.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from local_cloud import LocalCloudError
from local_cloud.client import control
from local_cloud.client.home import Home
from testing.tally import Tally
from tests.client.test_process_state import suspend
from tests.notebook import Notebook, Said
from tests.store.test_damage import DAMAGES, contents, opened
from tests.torture.rig import Rig
from tests.torture.writers.objects import reading

LONGEST = 30.0  # seconds for one call, on a busy machine; the SDKs' own patience is two minutes
SUFFICES = {
    "kill": "answered",
    "suspend": "LocalCloudError The local cloud runs as process",
    "stop": "LocalCloudError the local cloud was stopped at",
}
FILES = ("secret", "address.json", "server.log", "lock", "data/records.sqlite", "data/s3.sqlite")


def run(folder: Path, seconds: float) -> Tally:
    """End the server in turn in each way, for about that long."""
    tally, slowest = Tally("dead_server"), dict.fromkeys(SUFFICES, 0.0)
    chosen, end = random.Random(0), time.monotonic() + seconds * 0.7
    with Rig(folder / "dead", tally) as rig:
        notebook, kept = Notebook(rig.home), dict[str, bytes]()
        while True:
            for how in chosen.sample(sorted(SUFFICES), len(SUFFICES)):
                _write(rig, kept, tally)
                said = _end(rig, notebook, how)
                for one in said:
                    well = one.text.startswith(SUFFICES[how]) and one.seconds < LONGEST
                    tally.check(well, f"{how}: {one}")
                slowest[how] = max(slowest[how], *(one.seconds for one in said))
                rig.start()
                for path, content in kept.items():
                    if rig.ask("GET", path) != (200, content):
                        tally.loses(path)
            if time.monotonic() > end:
                break
        notebook.end()
    _damage(rig.home, chosen, time.monotonic() + seconds * 0.3, tally)
    words = ", ".join(f"{how} {seconds:.1f} s" for how, seconds in slowest.items())
    tally.done = f"slowest call after {words}"
    return tally


def _write(rig: Rig, kept: dict[str, bytes], tally: Tally) -> None:
    content = str(len(kept)).encode() * 1000
    for method, path in (
        ("PUT", f"/aws/torture/{len(kept)}"),
        ("POST", f"/upload/storage/v1/b/torture/o?uploadType=media&name={len(kept)}"),
    ):
        status, _ = rig.ask(method, path, content)
        tally.check(status == 200, f"{path}: {status}")
        kept[reading(path)] = content


def _end(rig: Rig, notebook: Notebook, how: str) -> list[Said]:
    """End the server in this way; what the notebook's calls then give."""
    if how == "kill":
        rig.kill()
        return notebook.ask()
    if how == "stop":
        rig.stop()
        return notebook.ask()
    pid = rig.home.address()["pid"]
    with rig.away():
        suspend(pid)
        said = notebook.ask()
        os.kill(pid, signal.SIGCONT)
    return said


def _damage(home: Home, chosen: random.Random, end: float, tally: Tally) -> None:
    """Damage a file of a home whose server has stopped: it starts with all, or names the file."""
    while True:
        name, damage = chosen.choice(FILES), chosen.choice(DAMAGES)
        path, before, what = home.folder / name, contents(home.data), f"{damage.__name__}: {name}"
        whole = path.read_bytes()
        damage(path)
        try:
            control.start(home)
        except LocalCloudError as problem:
            tally.check(str(home.folder) in str(problem), f"{what}: {problem}")
        else:
            control.stop(home)
        after = contents(home.data)
        if missing := [one for one in before if after.get(one) != before[one]]:
            tally.loses(f"{what}: {missing[0]}")
        else:
            tally.survives()
        if path.is_dir():
            path.rmdir()
        path.write_bytes(whole)  # the copy that is put back
        opened(home.data).close_records()
        if time.monotonic() > end:
            return
