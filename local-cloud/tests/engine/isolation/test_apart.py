"""Programs of the server's that run other people's code: nothing of them is left when they end."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from local_cloud.engine.isolation.apart import Apart
from local_cloud.engine.isolation.roots import Isolation, Level

SECONDS = "61.25"  # no other process sleeps for so long
CODE = f"""
import subprocess, sys
subprocess.Popen(["sleep", "{SECONDS}"], start_new_session=True)
subprocess.run(["sleep", "{SECONDS}"])
"""


def sleepers() -> list[psutil.Process]:
    """Return the processes that CODE started and that have not ended."""
    return [
        each
        for each in psutil.process_iter(["cmdline", "status"])
        if each.info["cmdline"] == ["sleep", SECONDS]
        and each.info["status"] != psutil.STATUS_ZOMBIE
    ]


@pytest.mark.parametrize("level", list(Level))
def test_what_a_program_started_has_ended_when_it_is_interrupted(
    tmp_path: Path, level: Level
) -> None:
    allowed = Isolation.find(tmp_path, ())
    if level is not Level.UNPROTECTED and allowed.level not in (level, Level.OWN_ROOT):
        pytest.skip("this machine does not allow it")
    apart = Apart(replace(allowed, level=level), tmp_path)
    with pytest.raises(subprocess.TimeoutExpired):
        apart.run((sys.executable, "-c", CODE), seconds=1.5)
    assert not sleepers()
