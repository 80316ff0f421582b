"""Folders inside each other, more than Python calls functions: shutil.rmtree fails at them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_cloud.store import trees


@contextmanager
def nested(root: Path, depth: int) -> Iterator[Path]:
    """Make so many folders inside each other, with a file in the last, and remove them at the end.

    The last one's path may be longer than any can be. pytest itself could not remove them.
    """
    root.mkdir()
    here = os.open(root, os.O_RDONLY)
    try:
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        yield root
    finally:
        os.close(here)
        trees.remove(root)
