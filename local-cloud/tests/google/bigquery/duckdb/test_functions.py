"""The macros of functions.sql: what raises has a twin that returns NULL."""

from __future__ import annotations

import re

import pytest

from local_cloud.google.bigquery.duckdb.functions import PREFIX, SAFE, macros

MACROS = dict(
    re.findall(r"^CREATE OR REPLACE MACRO (\w+)(.*?);$", macros(), re.MULTILINE | re.DOTALL)
)
RAISING = sorted(name for name, body in MACROS.items() if "error(" in body)


def parameters(body: str) -> list[str]:
    """Return the parameters of each overload."""
    return re.findall(r"(?:^|\n    )\s?\((.*)\) AS", body)


def test_each_statement_is_read() -> None:
    assert len(MACROS) == macros().count("CREATE") == macros().count(";\n") > 40
    assert len(RAISING) > 15


@pytest.mark.parametrize("name", RAISING)
def test_a_macro_that_raises_has_a_twin_for_the_same_arguments(name: str) -> None:
    twin = MACROS[name.replace(PREFIX, SAFE, 1)]
    assert parameters(twin) == parameters(MACROS[name]) != []
    assert "error(" not in twin
    assert not re.search(r"(?<!TRY_)CAST\((?!0|100)", twin)  # it would raise, but for a constant
