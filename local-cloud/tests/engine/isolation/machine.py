"""A machine of the test's own: `python machine.py USER FOLDER COMMAND …`, as root.

It is a copy of this one, in which the command may do everything: what it changes disappears, but
for what it writes into FOLDER. So a test can attack it, and find out what is left. USER: the
number of the user as whom the command runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
INSIDE = ROOT / "src" / "local_cloud" / "engine" / "isolation" / "inside"


def enter(folder: str) -> None:
    """Give this process a root that is a copy of the machine's."""
    sys.path.insert(0, str(INSIDE))
    import kernel  # type: ignore[import-not-found]
    import own_processes  # type: ignore[import-not-found]
    import own_root  # type: ignore[import-not-found]

    kernel.unshare(processes=True)
    told = own_processes.fork_first()
    layout = {
        "layer": f"{folder}.machine",
        "has_layer": True,
        "has_processes": True,
        "hidden": [],
        "shown": [],
        "fixed": [],
        "shared": {folder: folder},
        "hosts": [],
        "is_batch": False,
    }
    root = own_root.Root(layout, has_own_users=False)
    root.build()
    kernel.change_root(root.path)
    own_processes.fork_command(told)
    kernel.mount("proc", "/proc", "proc", flags=0)  # the one of a layout has parts that are closed


def run(user: int, folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a machine whose disk is beside this folder."""
    words = [sys.executable, __file__, str(user), folder, *command]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


if __name__ == "__main__":
    here = os.getcwd()
    enter(sys.argv[2])
    os.chdir(here)
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
    os.environ["HOME"] = f"{sys.argv[2]}/home"
    os.execv(sys.argv[3], sys.argv[3:])
