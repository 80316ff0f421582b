"""Filter patterns for plain text: terms, phrases in double quotes, `-term` and `?term`.

The syntax and its examples are on the page FilterAndPatternSyntax of the CloudWatch Logs guide: a
term is met anywhere in the message, in the same case; several must all be met; of those behind a
question mark, one; those behind a minus, none. A term of other characters than letters, digits
and _ stands in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented

TERM = re.compile(r'([-?]?)(?:"((?:[^"\\]|\\.)*)"|(\w+))(?:\s+|$)')
OTHER_SYNTAX = {"{": "JSON", "[": "columns", "%": "regular expressions"}


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Return whether a message matches the pattern; the empty one matches everything.

    ServiceError for what is no pattern, and for the kinds of pattern that are missing here.
    """
    text = pattern.strip()
    if text[:1] in OTHER_SYNTAX:
        raise not_implemented(f"CloudWatch Logs filter patterns of {OTHER_SYNTAX[text[0]]}")
    terms: dict[str, list[str]] = {"": [], "-": [], "?": []}
    place = 0
    while place < len(text):
        match = TERM.match(text, place)
        if not match:
            raise ServiceError(
                "InvalidParameterException",
                f"Invalid filter pattern: {text[place:]!r}; put a term of other characters than "
                "letters, digits and _ in double quotes",
            )
        kind, phrase, word = match.groups()
        terms[kind].append(word or re.sub(r"\\(.)", r"\1", phrase))
        place = match.end()
    if terms["?"] and (terms[""] or terms["-"]):
        raise not_implemented("CloudWatch Logs filter patterns that mix ?terms with others")
    return lambda message: (
        all(term in message for term in terms[""])
        and not any(term in message for term in terms["-"])
        and (not terms["?"] or any(term in message for term in terms["?"]))
    )
