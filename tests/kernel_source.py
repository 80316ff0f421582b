"""A process with the notebooks' imports done, which forks a kernel for whoever asks.

A kernel needs 2 to 8 s of processor time to import the SDKs, and forking takes a hundredth of a
second. What a kernel gets (folder, environment, random numbers) is its own; the lesson's own
packages are not imported here, because each notebook has its own copy of them. What the SDKs do
again for each job, with the same result, they do once in a kernel (testing/once.py).

A process with several threads must not be forked: the others are missing in the child, and what
they had locked stays locked. So libraries that start threads on import are told not to, by ALONE,
and a process that has several all the same ends, and kernels are started in the ordinary way.

tests/kernels.py starts this file: `python kernel_source.py SOCKET MODULES`, SOCKET being the
number of an open one that listens. It ends when nobody holds its input any more.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ALONE = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    # As in a kernel: ipykernel sets this before a cell can import matplotlib.
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}
ROOT = Path(__file__).parents[1]
LIGHT = ROOT / "AWS_helpers/light_imports.py"  # as connect() does it
ONCE = ROOT / "local-cloud/testing/once.py"  # as in the tests' own processes
LARGEST = 1 << 17  # bytes of a request: most of it is the environment


def threads() -> int:
    """The threads of this process, those of libraries included."""
    return len(os.listdir("/proc/self/task"))


def forked(listener: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork a child for each request; return in the children only, with theirs."""
    watch = selectors.DefaultSelector()
    watch.register(listener, selectors.EVENT_READ)
    watch.register(sys.stdin, selectors.EVENT_READ)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a kernel that has ended leaves no zombie
    while all(key.fileobj is listener for key, _ in watch.select()):
        line, _ = listener.accept()
        with line:
            text, streams, _, _ = socket.recv_fds(line, LARGEST, 3)
            if not os.fork():
                os.setsid()
                line.send(str(os.getpid()).encode())
                watch.close()
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                return json.loads(text), streams
            for stream in streams:
                os.close(stream)
    sys.exit()


def become(request: dict[str, Any], streams: list[int]) -> None:
    """Take on what a started kernel would have: streams, folder, environment, random numbers."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["ipykernel_launcher", *request["arguments"]]
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # Python seeds its own after a fork


def main(listener: socket.socket, modules: Sequence[str]) -> None:
    """Import, and become a kernel in each child."""
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # ipykernel reads it on import
    gc.disable()  # what an import makes stays
    with contextlib.redirect_stderr(io.StringIO()):  # what imports warn of
        runpy.run_path(str(LIGHT))["import_jsonschema"]()
        for module in modules:
            importlib.import_module(module)
    if "sagemaker.train" in modules and "google.cloud.aiplatform" in modules:
        once = runpy.run_path(str(ONCE))
        once["install"]()
        once["pack_once"]()
    if threads() > 1:
        sys.exit(f"kernels are not forked: {threads()} threads run after the imports")
    gc.collect()
    gc.freeze()
    gc.enable()
    become(*forked(listener))
    sys.modules["ipykernel.kernelapp"].launch_new_instance()


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
