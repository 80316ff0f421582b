"""Match an object's name, or another text, against a pattern with wildcards."""

from __future__ import annotations

import re


def matches(text: str, pattern: str) -> bool:
    """Return whether a text fits a pattern, in which `*` alone stands for any letters."""
    # Atomic groups: each piece where it comes first, and no search for another way, which could
    # take for ever.
    first, *rest = map(re.escape, pattern.split("*"))
    if not rest:
        return text == pattern
    between = "".join(f"(?>.*?{piece})" for piece in rest[:-1])
    return bool(re.fullmatch(f"{first}{between}.*{rest[-1]}", text, re.DOTALL))
