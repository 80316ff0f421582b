"""A limit on memory leaves a program what it says, whatever PyTorch's build takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lesson.machines.memory import limit_memory

USES = "import torch; torch.optim.Adam([torch.zeros({} * 250_000, requires_grad=True)])"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts a process's data")
def test_a_program_gets_so_much_memory_beside_pytorch_and_no_more() -> None:
    limit = limit_memory(300)
    fits, does_not = (
        subprocess.run(
            ["sh", "-c", f'{limit} exec "$0" -c "$1"', sys.executable, USES.format(megabytes)],
            env={"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        for megabytes in (200, 400)
    )
    assert fits.returncode == 0, fits.stderr
    assert does_not.returncode == 1 and "memory" in does_not.stderr
