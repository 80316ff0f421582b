"""What only Amazon's side has; tests/helpers/ has what both sides show."""

from __future__ import annotations

import pytest

from tests.helpers.fixtures import connection as connection
from tests.helpers.fixtures import data as data
from tests.helpers.fixtures import quick as quick
from tests.helpers.fixtures import unconnected as unconnected
from tests.helpers.sides import SIDES, Side


@pytest.fixture(autouse=True)
def side(unconnected: None) -> Side:
    """Amazon's helpers, before connect()."""
    return SIDES["Amazon"]
