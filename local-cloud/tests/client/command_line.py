"""The command `python -m local_cloud`, as in a shell."""

from __future__ import annotations

import os
import subprocess
import sys

from local_cloud.client.home import CHECKOUT, Home


def command_line(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it on the local cloud of this home."""
    return subprocess.run(
        [sys.executable, "-m", "local_cloud", *arguments],
        cwd=CHECKOUT,
        env=os.environ | {"LOCAL_CLOUD_HOME": str(home.folder)},
        capture_output=True,
        text=True,
    )
