"""Ctrl-C in the main job, `make lesson`, while a job runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local_cloud import Status
from tests.test_compare import HERE, ROOT
from tools import compare


def test_ctrl_c_while_a_job_runs_says_what_becomes_of_it_and_what_to_do(
    cloud: Status, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HERE],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as job:
        assert job.stdout is not None
        if not any("] " in line for line in job.stdout):  # the first of the job's progress
            pytest.fail("no job was watched")
        job.send_signal(signal.SIGINT)
        said = job.communicate(timeout=60)[1]
    assert job.returncode == 1
    assert said.splitlines()[-1] == f"lesson: {compare.STOPPED}"
    assert "Traceback" not in said and "wait(" not in said
