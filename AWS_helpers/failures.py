"""What SageMaker and a job's log say of a failure, in short."""

from __future__ import annotations

import re

EXCEPTION = re.compile(r"[\w.]+(Error|Exception|Interrupt|Exit)\b")
OWN_SENTENCE = "train_nn.py: "  # so begins what the script says when it refuses its input


def essence(reason: str) -> str:
    """Return the first words of a reason, the script's last, and the exit code."""
    first, _, rest = reason.strip().partition("\n")
    first = first.removesuffix("Traceback (most recent call last):").strip(" :.")
    if said := re.search(r'^ErrorMessage "(.*?)"?\s*^Command', rest, re.DOTALL | re.MULTILINE):
        first += f": {said[1].strip().splitlines()[-1].strip()}" if said[1].strip() else ""
    code = re.search(r"exit code: \d+", rest)
    return f"{first}, {code[0]}" if code else first


def last_words(lines: list[str]) -> str | None:
    """Return what the script said last of itself: its own sentence, or how its traceback ends."""
    own = [line for line in lines if line.startswith(OWN_SENTENCE)]
    if own:
        return own[-1]
    begun = [place for place, line in enumerate(lines) if line.startswith("Traceback ")]
    rest = lines[begun[0] + 1 :] if begun else []
    named = (line for line in rest if EXCEPTION.match(line))
    # One of another name: the first line that is not indented; but the SDK's driver indents none.
    return next(named, next((line for line in rest if line[:1].strip()), None))
