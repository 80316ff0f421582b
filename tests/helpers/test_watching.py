"""Watching a job as learners do: in a terminal, into a file, and interrupted."""

from __future__ import annotations

import os
import pty
import re
import signal
import time

import pytest

from lesson.jobs import watching
from lesson.jobs.epochs import epochs_of_results
from lesson.jobs.lookup import job_of
from lesson.show.progress import PLAIN_EVERY, Display, Progress
from tests.helpers.sides import Side
from tests.watching import SECONDS, read_until, started


@pytest.mark.parametrize(
    ("side", "epochs", "runs", "least"),
    [
        ("Google", 4_000, "] running", 1),
        # By then there was a line without an epoch.
        pytest.param("Amazon", 8_000, "] running (Training)  epoch", 2, marks=pytest.mark.slow),
    ],
    indirect=["side"],
)
def test_an_interrupt_leaves_the_job_running_and_another_process_sees_its_end(
    side: Side,
    epochs: int,
    runs: str,
    least: int,
    data: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a terminal one line changes; a file gets one for each state, and every five seconds."""
    flags = {**data, "epochs": epochs, "patience": 0}
    leader, follower = pty.openpty()
    with started(side.helpers.__name__, f"train({flags})", follower) as process:
        os.close(follower)
        shown = read_until(leader, runs)
        process.send_signal(signal.SIGINT)  # what Ctrl-C and Jupyter's stop button send
        shown = read_until(leader, "ends it", shown)
        assert process.wait(SECONDS) == 0
    os.close(leader)
    looks = next(line for line in shown.split("\r\n") if "\033[K" in line).split("\r\033[K")[1:]
    assert len(looks) >= least
    assert all(len(look) < 100 for look in looks)  # a longer one would wrap, and stay
    match = re.search(r"LessonError: no longer watching, but (\S+) goes on: wait", shown)
    assert match and "Traceback" not in shown
    name, cloud = match[1], side.describe.cloud()
    assert cloud.status(job_of(cloud, name)).state == "running"
    capsys.readouterr()
    begun = time.monotonic()
    run = side.helpers.wait(name)  # this process did not send it
    due = (time.monotonic() - begun) // PLAIN_EVERY
    out = capsys.readouterr().out
    assert run.place == f"{side.service} (local cloud)"
    lines = [line for line in out.splitlines() if line.startswith("[")]
    assert f"] {side.succeeded}  epoch {epochs} of {epochs}" in lines[-1]
    states = {line.split("] ")[1].split()[0] for line in lines}
    assert "\033" not in out and len(set(lines)) == len(lines) <= len(states) + 1 + due


class InPlace(Display):
    """A display that could show something else in the end, as a notebook's can."""

    last: Progress

    def show(self, view: Progress) -> None:  # type: ignore[override] # no study is shown here
        InPlace.last = view

    redraw = show  # type: ignore[assignment]


def test_in_the_end_the_curve_has_every_epoch(
    side: Side, data: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "Display", InPlace)
    run = side.helpers.train({**data, "epochs": 30})
    epochs = [(epoch.number, epoch.loss) for epoch in epochs_of_results(run.folder)]
    assert [number for number, _ in epochs] == [*range(1, 31)]
    assert list(InPlace.last.curve) == epochs
    assert (InPlace.last.state, InPlace.last.epoch) == ("succeeded", 30)
