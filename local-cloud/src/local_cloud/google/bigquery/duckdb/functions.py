"""The names of the macros in functions.sql: functions of BigQuery's that DuckDB lacks.

No query can name one: rewrites put them in.
"""

from __future__ import annotations

import re
from pathlib import Path

PREFIX = "bq_"
SAFE = "bq_safe_"  # the twin of one that raises: it returns NULL
# Not a macro, but farmhash.py: a macro cannot call it, for the file has no functions of Python's.
FINGERPRINT = "fingerprint"
FILE = Path(__file__).with_name("functions.sql")


def names() -> frozenset[str]:
    """Return how they are called."""
    made = re.findall(r"^CREATE OR REPLACE MACRO (\w+)", macros(), re.MULTILINE)
    return frozenset({*made, PREFIX + FINGERPRINT})


def macros() -> str:
    """Return the statements that make them all."""
    return FILE.read_text(encoding="utf-8")
