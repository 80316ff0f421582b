"""Each test runs on either cloud."""

from __future__ import annotations

import pytest

from tests.helpers.fixtures import connection as connection
from tests.helpers.fixtures import data as data
from tests.helpers.fixtures import quick as quick
from tests.helpers.fixtures import unconnected as unconnected
from tests.helpers.sides import SIDES, Side


@pytest.fixture(params=SIDES)
def side(request: pytest.FixtureRequest, unconnected: None) -> Side:
    """A cloud's helpers, before connect()."""
    return SIDES[request.param]
