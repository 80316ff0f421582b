"""Send scripts to places, a few at once, and judge each by its header.

`python -m tests.strangers.suite [SCRIPT|PLACE …]` runs those named, on a local cloud of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

import local_cloud
from local_cloud.client.control import Status
from local_cloud.engine.processes import reaper
from tests.strangers.sagemaker import SageMaker
from tests.strangers.script import PLACES, Script, all_scripts
from tests.strangers.shared_parts import ENDED, Look, Sent
from tests.strangers.vertex import Vertex

AT_ONCE = 6  # sent and unended at a time: some run, the others queue
RUNS = 180.0  # seconds that a script may run before it counts as stuck
WAITS = 900.0  # and wait for its turn, while others run or are stuck
LEAVES = 60.0  # and take to end once it is cancelled
PERIOD = 0.25

Send = Callable[[Script, bool], Sent]


class Places:
    """The clouds to which scripts are sent, each made when it is first needed."""

    def __init__(self, cloud: Status, scratch: Path) -> None:
        self._cloud, self._scratch = cloud, scratch
        self._made: dict[str, Send] = {}
        self.secret = cloud.home.secret()

    def send(self, script: Script, place: str) -> Sent:
        """Send a script to a place."""
        return self._made[self.ready(place)](script, place.endswith("-trial"))

    def ready(self, place: str) -> str:
        """Record the SDK's requests for this place's cloud, once; its name."""
        name = place.removesuffix("-trial")
        if name not in self._made:
            jobs, scratch = self._cloud.home.data / "jobs", self._scratch / name
            scratch.mkdir()
            made: Vertex | SageMaker
            if name == "vertex":
                assert self._cloud.url
                made = Vertex(self._cloud.url, jobs, scratch)
            else:
                made = SageMaker(jobs, scratch)
            self._made[name] = made.send
        return name


def run(
    places: Places,
    pairs: Iterable[tuple[Script, str]],
    told: Callable[[Script, str, str, float], None] = lambda *_: None,
) -> dict[tuple[str, str], str]:
    """Run scripts in places; of each pair of names what is wrong with it, nothing if all is well.

    told: called with each verdict as it comes, and the seconds from sending to the end.
    """
    verdicts: dict[tuple[str, str], str] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {}
        for script, place in pairs:
            places.ready(place)
            running[pool.submit(_timed, places, script, place)] = script, place
        for done in as_completed(running):
            script, place = running[done]
            problem = done.exception()
            verdict, seconds = (repr(problem), 0.0) if problem else done.result()
            verdicts[script.name, place] = verdict
            told(script, place, verdict, seconds)
    return verdicts


def _timed(places: Places, script: Script, place: str) -> tuple[str, float]:
    begun = time.monotonic()
    return judge(script, places.send(script, place), places.secret), time.monotonic() - begun


def judge(script: Script, sent: Sent, secret: str) -> str:
    """Wait for the end of a script and say what is not as its header has it.

    The local cloud's secret is in no log, for a log is shown to others.
    """
    look = _wait(script, sent)
    if look.state not in ENDED:
        problem = _cancelled(sent)
        return f"stuck: {look.state} for too long{problem}\n{_tail(sent)}"
    log, problems = sent.log(), []
    wanted = script.one("exit")
    state = {"0": "succeeded", "stopped": "stopped"}.get(wanted, "failed")
    if look.state != state:
        problems.append(f"{look.state}, not {state}: {look.message}")
    elif state == "failed" and wanted != "failed" and f"{wanted}" not in look.message:
        problems.append(f"no exit code {wanted} in {look.message!r}")
    problems += [
        f"not in the log: {text!r}" for text in script.said.get("log", []) if text not in log
    ]
    problems += ["the local cloud's secret is in the log"] if secret in log else []
    problems += _folder(script, sent)
    if not _until(sent.over, LEAVES):
        problems.append(f"the job has ended, its study has not{_cancelled(sent)}")
    return "\n".join([*problems, _tail(sent)]) if problems else ""


def _wait(script: Script, sent: Sent) -> Look:
    """The last look at a job that has ended, or that has had its time."""
    begun, asked = time.monotonic(), False
    started: float | None = None
    stop = script.one("stop at")
    while (look := sent.look()).state not in ENDED:
        now = time.monotonic()
        if started is None and look.state == "running":
            started = now
        if now - begun > WAITS or (started is not None and now - started > RUNS):
            break
        if stop and not asked and stop in sent.log():
            sent.cancel()
            asked = True
        time.sleep(PERIOD)
    return look


def _cancelled(sent: Sent) -> str:
    """Cancel what is stuck; what to say if even that does not end it."""
    with suppress(OSError):
        sent.cancel()
    return "" if _until(sent.over, LEAVES) else ", and cancelling does not end it"


def _until(true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not (is_true := true()) and time.monotonic() < end:
        time.sleep(PERIOD)
    return is_true


def _folder(script: Script, sent: Sent) -> list[str]:
    """What is wrong with the model's folder, or with processes that should be gone."""
    if not script.models:
        return []
    files = sent.model()
    problems = [
        f"no {pattern} in the model's folder, which has {sorted(files)}"
        for pattern in script.models
        if not any(fnmatch(name, pattern) for name in files)
    ]
    # The number that it wrote down is its own job's; its processes bear the job's name here.
    mark = f"LOCAL_CLOUD_JOB={sent.job.rpartition('/')[2]}"
    if script.one("gone") in files and not _until(lambda: not reaper.find_living((), [mark]), 10):
        problems.append(f"processes {reaper.find_living((), [mark])} have outlived their job")
    return problems


def _tail(sent: Sent) -> str:
    return "    " + "\n    ".join(sent.log()[-2000:].splitlines()[-15:])


def main() -> int:
    """Run what the command line names; 1 if anything is not as it should be."""
    parser = argparse.ArgumentParser("python -m tests.strangers.suite", description=__doc__)
    parser.add_argument("names", nargs="*", help="scripts and places; none: all")
    names = parser.parse_args().names
    chosen = [name for name in names if name in PLACES] or PLACES
    scripts = [one for one in all_scripts() if one.name in names or not {*names} - {*PLACES}]
    pairs = [(one, place) for place in chosen for one in scripts if place in one.places]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOCAL_CLOUD_HOME"] = f"{folder}/local cloud"
        begun = time.monotonic()
        cloud = local_cloud.activate()

        def told(script: Script, place: str, verdict: str, seconds: float) -> None:
            print(f"{'FAIL' if verdict else 'ok  '} {script.name:24} {place:16} {seconds:5.1f} s")
            if verdict:
                print(f"     {verdict}")
            sys.stdout.flush()

        try:
            verdicts = run(Places(cloud, Path(folder)), pairs, told)
        finally:
            local_cloud.stop()
        bad = sum(map(bool, verdicts.values()))
        print(f"{len(verdicts)} jobs, {bad} wrong, {time.monotonic() - begun:.0f} s")
        return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
