"""A local cloud that several users have in turn: each finds it new, and it runs on.

A server of its own would cost each user the start, another import of torch for the first job, and
another build of the wheels that jobs install.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from local_cloud.client import control
from local_cloud.client.home import Home
from local_cloud.store import trees


class CloudInTurn:
    """The folder of such a local cloud, named in LOCAL_CLOUD_HOME: the first user starts it."""

    def __init__(self) -> None:
        """Make room for it."""
        self._folder = tempfile.TemporaryDirectory(prefix="in-turn-")
        self.home = Home(Path(self._folder.name, "local-cloud"))

    def empty(self) -> None:
        """Remove what a user has left: what runs, what is kept, images, what the log says.

        Wheels stay: a job finds one only by the content of what it would build it from.
        """
        wheels, kept = self.home.data / "jobs/.wheels", Path(self._folder.name, "wheels")
        if wheels.exists():
            wheels.rename(kept)
        trees.remove(self.home.images)
        if self.home.running():
            control.empty(self.home)
        else:
            control.reset(self.home)
        if self.home.log.exists():
            self.home.log.write_text("")
        if kept.exists():
            wheels.parent.mkdir(parents=True, exist_ok=True)
            kept.rename(wheels)

    def end(self) -> None:
        """Stop it, and remove its folder."""
        control.stop(self.home)
        self._folder.cleanup()
