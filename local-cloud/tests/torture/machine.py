"""Jobs of both clouds that write all over this machine, read its secrets and end its processes.

What is tried would change this machine where a defence fails: files are added (and removed at the
end), a folder and a process of this part's own are there to be removed and ended. What would harm
more is tried in a machine of its own (tests/engine/isolation/test_attacks.py).
"""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from local_cloud.engine.isolation.roots import SENTENCES, Level
from testing.tally import Tally
from tests.engine.isolation import hostile
from tests.torture.rig import Rig

PLACES = ("/", "/dev", "/etc", "/opt", "/root", "/srv", "/tmp", "/usr/local", "/var")
CHECKOUT = Path(__file__).parents[2]
WRITTEN = "hostile"  # the name of the files that a job adds


def run(folder: Path, _: float) -> Tally:
    """Send a job to each cloud, and compare what it could do with what it may."""
    tally = Tally("machine")
    with Rig(folder / "machine-home", tally) as rig:
        if SENTENCES[Level.OWN_ROOT] not in rig.get("/status")["isolation"]:
            tally.skipped = "this machine gives no job its own file system"
            return tally
        victim = subprocess.Popen(["sleep", "600"])
        kept = folder / "machine-kept"
        kept.mkdir()
        try:
            _attack(rig, tally, kept, victim)
        finally:
            victim.kill()
            victim.wait()
    return tally


def _attack(rig: Rig, tally: Tally, kept: Path, victim: subprocess.Popen[bytes]) -> None:
    secret = kept / "key"
    secret.write_text("kept")
    places = [*PLACES, str(CHECKOUT), str(Path.home())]
    before = {place: Path(place, WRITTEN).exists() for place in places}
    facts = {
        "places": places,
        "secrets": [str(secret), str(rig.home.data / "records.sqlite"), str(rig.home.log)],
        "processes": [victim.pid] if victim.pid > 200 else [],
        "late": f"/tmp/{WRITTEN}",
        "remove": [str(kept), "/etc", "/usr/local", str(CHECKOUT / "testing")],
    }
    program = Path(hostile.__file__).read_text().replace("from __future__", "#")
    program = f"import sys\nsys.argv[1:] = [{json.dumps(facts)!r}]\n{program}"
    words = rig.store_program("hostile.py", program)
    for job in (rig.send(words), rig.train("machine", words)):
        rig.wait(job, 120)
        _compare(tally, rig.log(job), places)
    tally.check(secret.exists() and secret.read_text() == "kept", f"{secret} has changed")
    tally.check(victim.poll() is None, "a process was ended")
    tally.check((CHECKOUT / "testing").is_dir(), "the checkout has changed")
    for place in places:
        tally.check(Path(place, WRITTEN).exists() == before[place], f"a job has written to {place}")
        if not before[place]:
            with suppress(OSError):
                Path(place, WRITTEN).unlink()


def _compare(tally: Tally, log: str, places: list[str]) -> None:
    """Compare what a job says that it could do with what it may."""
    lines = [line for line in log.splitlines() if line.startswith("{")]
    if not lines:
        tally.breaks(f"a job said nothing: {log[-300:]}")
        return
    could: dict[str, Any] = json.loads(lines[0])
    allowed = {f"write {place}" for place in places}
    for name, why in could.items():
        if why or name in allowed:
            tally.survives()
        else:
            tally.lets_in(f"a job could {name}")
