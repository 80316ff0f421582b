"""A job that does harm: `python hostile.py FACTS`; what it could do goes to its log, as JSON.

FACTS is JSON: `places`, folders into which it writes; `secrets`, files that it looks for and reads;
`processes`, which it ends; `late`, a file that a daemon of it writes again and again;
`remove`, folders that it removes at its end, or begins to. What would harm even the test's machine
is tried in a way that changes nothing: a mode is set that a file has already.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

done: dict[str, str] = {}  # what was tried -> "" or why it could not be done


def attempt(name: str, deed: Callable[..., object], *about: Any) -> None:
    try:
        deed(*about)
        done[name] = ""
    except (OSError, ValueError) as problem:
        done[name] = str(problem)


def mount() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", b"/mnt", b"tmpfs", 0, b""):
        raise OSError(ctypes.get_errno(), "mount")


def make_disk() -> None:
    """Make a node for the machine's disk, and read it."""
    number = os.stat("/").st_dev
    os.mknod("/tmp/disk", stat.S_IFBLK | 0o600, number)
    read("/tmp/disk", 1)


def replace_null() -> None:
    os.symlink("/tmp/elsewhere", "/dev/other")
    os.rename("/dev/other", "/dev/null")


def read(path: str, count: int = -1) -> None:
    with open(path, "rb") as file:
        if not file.read(count):
            raise ValueError("empty")


def write(path: str) -> None:
    Path(path).write_text("x")


def write_again(path: str) -> None:
    """Write what a file has already."""
    Path(path).write_text(Path(path).read_text())


def change_mode(path: str) -> None:
    """Set the mode that a file has already."""
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode))


def see(path: str) -> None:
    if os.path.basename(path) not in os.listdir(os.path.dirname(path)):
        raise ValueError("not there")


def outlive(late: str) -> None:
    """Leave a daemon that writes, also when the job has ended."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for count in range(300):
                time.sleep(0.1)
                Path(late).write_text(str(count))
        os._exit(0)
    os.wait()


def main() -> None:
    facts = json.loads(sys.argv[1])
    for place in facts["places"]:
        attempt(f"write {place}", write, f"{place}/hostile")
    for path in facts["secrets"]:
        attempt(f"read {path}", read, path)
    for path in (*facts["secrets"], "/proc/1/root/.old-root"):
        attempt(f"see {path}", see, path)
    for pid in facts["processes"]:
        attempt(f"end {pid}", os.kill, pid, signal.SIGKILL)
        attempt(f"read the variables of {pid}", read, f"/proc/{pid}/environ")
    attempt("mount", mount)
    attempt("mknod", make_disk)
    attempt("replace /dev/null", replace_null)
    for path in ("/dev/null", "/sys/kernel"):
        attempt(f"chmod {path}", change_mode, path)
    for path in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern"):
        attempt(f"write {path}", write_again, path)
    attempt("write /proc/sysrq-trigger", write, "/proc/sysrq-trigger")
    outlive(facts["late"])
    print(json.dumps(done), flush=True)
    for folder in facts["remove"]:
        words = ["timeout", "1", "rm", "-rf", "--no-preserve-root", folder]
        subprocess.run(words, stderr=subprocess.DEVNULL, check=False)
    sys.exit("attacked")


if __name__ == "__main__":
    main()
