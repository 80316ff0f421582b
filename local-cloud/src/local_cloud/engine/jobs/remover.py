"""Remove the folders of jobs in the background, however many files they hold."""

from __future__ import annotations

import asyncio
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from local_cloud.engine.logs import job_files
from local_cloud.store import trees
from local_cloud.store.interruption import Interrupted, interruptible

ASIDE = ".removed-"  # so begin the names of folders that are about to be removed
SECONDS = 5.0  # for what a job's end waits for; what is left goes with the job's folder


class Remover:
    """Removes the folders of deleted jobs in a separate thread."""

    def __init__(self, folder: Path) -> None:
        """folder: the one with the jobs' folders."""
        self._folder = folder
        self._closing = threading.Event()
        self._thread = ThreadPoolExecutor(1, "remover")

    def start(self) -> None:
        """Remove the folders that an earlier server has not finished removing."""
        for doomed in self._folder.glob(f"{ASIDE}*"):
            self._thread.submit(self._remove, doomed)

    def remove(self, folder: Path) -> None:
        """Rename a folder at once, if it exists, and remove it later."""
        doomed = self._folder / f"{ASIDE}{secrets.token_hex(4)}"
        with suppress(FileNotFoundError):
            folder.replace(doomed)
            self._thread.submit(self._remove, doomed)

    def _remove(self, doomed: Path) -> None:
        with interruptible(self._closing), suppress(Interrupted):
            trees.remove(doomed)

    def close(self) -> None:
        """Stop; the next start() continues."""
        self._closing.set()
        self._thread.shutdown()


async def remove_soon(root: Path, folder: Path) -> None:
    """Remove a folder as job_files.remove() does, but in a few seconds at most."""
    late = threading.Event()
    timer = asyncio.get_running_loop().call_later(SECONDS, late.set)
    try:
        with interruptible(late), suppress(Interrupted):
            await asyncio.to_thread(job_files.remove, root, folder)
    finally:
        timer.cancel()
