"""The one way into this room: all that the rest of the local cloud uses of warm starts.

`suits` says which replicas start warm (suitability.py), and `ForkServer` has them forked
(fork_server.py) from a process that has imported torch (fork_process.py). A launcher in a job has
its own programs forked by `CLIENT`.
"""

from __future__ import annotations

from pathlib import Path

from local_cloud.engine.warm.fork_server import ForkServer
from local_cloud.engine.warm.suitability import suits

__all__ = ["CLIENT", "ForkServer", "suits"]

CLIENT = Path(__file__).with_name("fork_client.py")  # a module that a job imports by its path
