"""An old laptop: two cores and 4 GB of memory, of which the system and a browser take one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.places.places import bare, clone

CORES = 2
MEMORY = 3.0  # GB for the lesson
LIMITED = """
import os, resource, sys
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:{cores}]))
resource.setrlimit(resource.RLIMIT_DATA, ({bytes}, {bytes}))  # of each process
os.execv(sys.argv[1], sys.argv[1:])
"""
BOOKS = ("04-vertex-first-job", "05-vertex-gpu-replicas", "07-sagemaker-first-job", "12-tuning")


def used(root: psutil.Process) -> float:
    """Return the GB of memory of a process and all that it has started; shared pages count once."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total / 1e9


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="shared pages are told apart on Linux only")
@pytest.mark.parametrize("book", BOOKS)
def test_a_notebook_runs_in_3_gb_on_two_cores(book: str, tmp_path: Path) -> None:
    """The kernel, the local cloud and its jobs together; the limit holds for each process."""
    lesson = clone(tmp_path / "lesson")
    (lesson / ".venv").symlink_to(sys.prefix)
    flags = [
        "--nbval-kernel-name=python3",
        "-p",
        "tests.shown_outputs",
        "--nbval",
        "--nbval-sanitize-with",
        "tests/nbval.cfg",
    ]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags]
    limit = LIMITED.format(cores=CORES, bytes=int(MEMORY * 1e9))
    variables = bare(tmp_path / "home", PYTHONPATH=str(lesson))
    log = tmp_path / "log"
    with open(log, "w") as said:
        run = psutil.Popen(
            [sys.executable, "-c", limit, *words, f"notebooks/{book}.ipynb"],
            cwd=lesson,
            env=variables,
            stdout=said,
            stderr=said,
        )
    most = 0.0
    while run.poll() is None:
        most = max(most, used(run) + sum(map(used, servers(tmp_path))))
        time.sleep(0.5)
    stop = [sys.executable, "-m", "local_cloud", "stop"]
    subprocess.run(stop, cwd=lesson, env=variables)
    assert run.returncode == 0, log.read_text()[-3000:]
    print(f"\n{book}: {most:.1f} GB at most")
    assert most < MEMORY


def servers(home: Path) -> list[psutil.Process]:
    """Return the local cloud's process, which is nobody's child."""
    processes = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "local_cloud.server" in words and any(str(home) in word for word in words):
            processes.append(process)
    return processes
