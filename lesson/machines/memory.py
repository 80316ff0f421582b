"""A limit on the memory of a command's processes, as a smaller machine would set it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

# What every training takes before its first weight: PyTorch's build decides how much.
MEASURE = """
import torch
torch.optim.Adam([torch.zeros(1, requires_grad=True)])
print(open("/proc/self/status").read())
"""


def limit_memory(megabytes: int) -> str:
    """Return the beginning of a shell's line whose processes have this much memory for their data.

    It is beside what PyTorch itself takes, which depends on its build and is measured in seconds.
    Linux only; elsewhere return "", and nothing is limited.
    """
    if not Path("/proc/self/status").exists():
        return ""
    status = subprocess.run(
        [sys.executable, "-c", MEASURE],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    # VmData is what `ulimit -d` counts: proc(5), getrlimit(2).
    data = re.search(r"VmData:\s+(\d+) kB", status)
    return f"ulimit -d {int(data[1]) + 1000 * megabytes};" if data else ""
