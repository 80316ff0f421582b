"""Watching a job as learners do: in a terminal, into a file, and interrupted."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from AWS_helpers import looking, train
from AWS_helpers.looking import Log

ROOT = Path(__file__).parents[2]
SECONDS = 90.0  # that a loaded machine may take


def calling(call: str) -> str:
    """A program that makes one call, and prints what it returns or the sentence it fails with."""
    return (
        "from AWS_helpers import connect, train, wait\n"
        "from lesson import LessonError\n"
        "connect()\n"
        "try:\n"
        f"    print({call})\n"
        "except LessonError as problem:\n"
        "    print(f'LessonError: {problem}')\n"
    )


def start(code: str, stdout: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"},
    )


def read_until(descriptor: int, wanted: str, so_far: str = "") -> str:
    """What is written until the wanted words are among it."""
    end = time.monotonic() + SECONDS
    while wanted not in so_far:
        assert time.monotonic() < end, so_far
        so_far += os.read(descriptor, 65536).decode()
    return so_far


def test_an_interrupt_leaves_the_job_running_and_another_process_sees_its_end(
    data: dict[str, str],
) -> None:
    flags = {**data, "epochs": 20_000, "patience": 0}
    leader, follower = pty.openpty()
    with start(calling(f"train({flags})"), follower) as process:
        os.close(follower)
        shown = read_until(leader, "] training  epoch")
        process.send_signal(signal.SIGINT)  # what Ctrl-C and Jupyter's stop button send
        shown = read_until(leader, "ends it", shown)
        assert process.wait(SECONDS) == 0
    os.close(leader)
    looks = next(line for line in shown.split("\r\n") if "\033[K" in line).split("\r\033[K")[1:]
    assert len(looks) >= 2 and all(len(look) < 100 for look in looks)
    found = re.search(r"LessonError: no longer watching, but (\S+) goes on: wait", shown)
    assert found and "Traceback" not in shown
    name = found[1]
    assert looking.state(looking.job_of(name)) == "in progress"
    with start(calling(f"wait({name!r})"), subprocess.PIPE) as process:
        out, _ = process.communicate(timeout=SECONDS)
    assert "] completed  epoch 20000 of 20000" in out and "Run(place='SageMaker" in out


def test_into_a_file_goes_a_line_at_each_change_of_state(data: dict[str, str]) -> None:
    with start(calling(f"train({ {**data, 'epochs': 3} })"), subprocess.PIPE) as process:
        out, _ = process.communicate(timeout=SECONDS)
    lines = [line for line in out.splitlines() if line.startswith("[")]
    assert "\033" not in out
    states = [line.split("] ")[1].split()[0] for line in lines]
    assert states[-1] == "completed" and len(set(lines)) == len(lines)


def test_a_log_is_read_on_from_where_it_was_left(data: dict[str, str]) -> None:
    run = train({**data, "epochs": 3})
    log = Log(run.job.training_job_name)
    whole = log.news()
    assert [line for line in whole if line.startswith("epoch     3")]
    assert len(log.news()) < len(whole)


def test_a_job_that_never_ran_has_no_log(connection: object) -> None:
    assert Log("never").news() == []
