"""The messages of Vertex AI's client library, loaded without its clients.

The library's package imports every client before its messages: 1.3 of the 1.8 seconds of processor
time that a server took to start. The server needs the messages alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys

LIBRARY = "google.cloud.aiplatform_v1"


def load() -> None:
    """Import the messages while an empty package stands for the library's, unless that is loaded.

    A later import of the library in this process is executed in full, with these messages.
    """
    if LIBRARY in sys.modules or not (spec := importlib.util.find_spec(LIBRARY)):
        return
    sys.modules[LIBRARY] = importlib.util.module_from_spec(spec)  # not executed
    try:
        importlib.import_module(f"{LIBRARY}.types")
    finally:
        del sys.modules[LIBRARY]
