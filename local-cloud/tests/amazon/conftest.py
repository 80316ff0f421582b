"""A server of one's own, which a test may kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.client import control
from local_cloud.client.home import Home


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    """A local cloud that runs, in a folder of this test's."""
    home = Home(tmp_path / "home")
    control.start(home)
    yield home
    control.stop(home)
