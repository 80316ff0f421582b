"""Call a function in a separate process, with limits on memory and time.

Starting one takes about 0.1 s. It gets none of the server's variables, and so not the secret.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import local_cloud
from local_cloud.bounded.errors import DamagedFile, OverLimit, ReaderEnded, size
from local_cloud.bounded.files import tail
from local_cloud.bounded.limits import DAMAGED, OUT_OF_MEMORY, OVER_LIMIT, Limits

KEPT = ("PATH", "HOME", "TMPDIR", "LANG")  # variables of the server that the process gets
TAIL = 4000  # bytes of what the process said at its end
DEFAULT = Limits()


def call(
    function: Callable[..., Any], *arguments: Any, limits: Limits = DEFAULT, **named: Any
) -> Any:
    """Return what a function of a module returns, called in a new process.

    All arguments and the answer are JSON. Raises OverLimit for a function that takes more than the
    limits, OverLimit and DamagedFile if it raises these, and ReaderEnded for another error or end.
    """
    task = {
        "module": function.__module__,
        "function": function.__qualname__,
        "arguments": arguments,
        "named": named,
        "limits": asdict(limits),
    }
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", "-m", "local_cloud.bounded.worker"],
            input=json.dumps(task).encode(),
            stdout=subprocess.PIPE,
            stderr=errors,
            env=_environment(),
            check=False,
        )
        _check(done, limits, errors)
    return json.loads(done.stdout)


def _environment() -> dict[str, str]:
    variables = {name: os.environ[name] for name in KEPT if name in os.environ}
    # A library's threads each take memory.
    variables |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return variables | {"PYTHONPATH": str(Path(local_cloud.__file__).parents[1])}


def _check(done: subprocess.CompletedProcess[bytes], limits: Limits, errors: Any) -> None:
    """Raise the error that the process's exit code means."""
    code = done.returncode
    if code == 0:
        return
    if code == OVER_LIMIT:
        raise OverLimit(json.loads(done.stdout))
    if code == DAMAGED:
        raise DamagedFile(json.loads(done.stdout))
    if code == OUT_OF_MEMORY:
        raise OverLimit(f"larger than {size(limits.memory)} in memory")
    if code == -signal.SIGALRM:
        raise OverLimit(f"reading it takes longer than {limits.seconds} s")
    if code < 0:
        raise ReaderEnded(f"the process that read it was ended by signal {-code}")
    said = tail(errors, TAIL).decode(errors="replace").strip().splitlines()
    raise ReaderEnded(f"the process that read it failed ({said[-1] if said else code})")
