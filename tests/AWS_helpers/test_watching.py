"""Watching a job as learners do: in a terminal, into a file, and interrupted."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess

import pytest

from AWS_helpers import describe, train
from AWS_helpers.describe import Log, job_of
from tests.watching import SECONDS, read_until, started


@pytest.mark.slow
def test_an_interrupt_leaves_the_job_running_and_another_process_sees_its_end(
    data: dict[str, str],
) -> None:
    flags = {**data, "epochs": 8_000, "patience": 0}
    leader, follower = pty.openpty()
    with started("AWS_helpers", f"train({flags})", follower) as process:
        os.close(follower)
        shown = read_until(leader, "] running (Training)  epoch")
        process.send_signal(signal.SIGINT)  # what Ctrl-C and Jupyter's stop button send
        shown = read_until(leader, "ends it", shown)
        assert process.wait(SECONDS) == 0
    os.close(leader)
    looks = next(line for line in shown.split("\r\n") if "\033[K" in line).split("\r\033[K")[1:]
    assert len(looks) >= 2 and all(len(look) < 100 for look in looks)
    found = re.search(r"LessonError: no longer watching, but (\S+) goes on: wait", shown)
    assert found and "Traceback" not in shown
    name = found[1]
    assert describe.status(job_of(name)).state == "running"
    with started("AWS_helpers", f"wait({name!r})", subprocess.PIPE) as process:
        out, _ = process.communicate(timeout=SECONDS)
    assert "] succeeded (Completed)  epoch 8000 of 8000" in out and "Run(place='SageMaker" in out


@pytest.mark.slow
def test_into_a_file_goes_a_line_at_each_change_of_state(data: dict[str, str]) -> None:
    with started("AWS_helpers", f"train({ {**data, 'epochs': 3} })", subprocess.PIPE) as process:
        out, _ = process.communicate(timeout=SECONDS)
    lines = [line for line in out.splitlines() if line.startswith("[")]
    assert "\033" not in out
    states = [line.split("] ")[1].split()[0] for line in lines]
    assert states[-1] == "succeeded" and len(set(lines)) == len(lines)


def test_a_log_is_read_on_from_where_it_was_left(data: dict[str, str]) -> None:
    run = train({**data, "epochs": 3})
    log = Log(run.job.training_job_name)
    whole = log.news()
    assert [line for line in whole if line.startswith("epoch     3")]
    assert len(log.news()) < len(whole)


def test_a_job_that_never_ran_has_no_log(connection: object) -> None:
    assert Log("never").news() == []
