"""How many examples a property is tried with: a quarter in `make test`, all in `make test-all`."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

USUAL = 100  # hypothesis's own number
LEAST = 5


def number_of(examples: int) -> int:
    """Return how many of these examples this run tries."""
    return examples if os.environ.get("ALL_EXAMPLES") else max(LEAST, examples // 4)


def with_examples(number: int, **more: Any) -> settings:
    """Try a property with this many examples in `make test-all`."""
    return settings(max_examples=number_of(number), **more)
