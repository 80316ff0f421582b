"""Write local_cloud/google/definitions/vertex_fields.json from the client library of Vertex AI.

What its service requires and how long a field may be is in no schema: only the library's
documentation of each message says so. `python -m tools.vertex_fields` reads these sentences once;
with --compare it prints what the installed library would change in the file, and writes nothing.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from google.cloud.aiplatform_v1 import types

from local_cloud.google.definitions.vertex_fields import FILE, PACKAGE

# In the documentation of a message: where the text on each of its fields begins.
FIELD = re.compile(r"^    (\w+) \([^\n]*\):\n", re.MULTILINE)
REQUIRED = re.compile(r" +Required\.")
LONGEST = re.compile(r"(?:can|may) be up to (\d+) characters long")
MOST = re.compile(r"[Mm]aximum (?:limit|number of [a-zA-Z ]+) is (\d+)")

Fields = dict[str, dict[str, Any]]  # for each message: "required" and "longest", if it has them


def generate() -> Fields:
    """Return what the installed library says, by the full names of its messages."""
    fields = {}
    for kind in sorted(_messages(), key=_full_name):
        texts = _field_texts(kind)
        required = sorted(name for name, text in texts.items() if REQUIRED.match(text))
        longest = {name: most for name, text in texts.items() if (most := _find_limit(text))}
        rules = {"required": required, "longest": longest}
        if any(rules.values()):
            fields[_full_name(kind)] = {name: rule for name, rule in rules.items() if rule}
    return fields


def _messages() -> Iterator[Any]:
    """Yield the classes of all messages, with those that are declared in others."""
    waiting = [vars(types)[name] for name in types.__all__]
    while waiting:
        kind = waiting.pop()
        if hasattr(kind, "pb"):
            yield kind
            waiting += [each for each in vars(kind).values() if inspect.isclass(each)]


def _full_name(kind: Any) -> str:
    return str(kind.pb().DESCRIPTOR.full_name).removeprefix(PACKAGE)


def _field_texts(kind: Any) -> dict[str, str]:
    """Return the documentation of each field of a message."""
    _, *blocks = FIELD.split(inspect.getdoc(kind) or "")
    return dict(zip(blocks[::2], blocks[1::2], strict=True))


def _find_limit(text: str) -> int:
    """Return the most characters, or entries, that a field may have, or 0."""
    sentence = " ".join(text.split())
    match = LONGEST.search(sentence) or MOST.search(sentence)
    return int(match[1]) if match else 0


def as_text(fields: Fields) -> str:
    """Return the file: a line for each message, so that a difference names it."""
    lines = (f"{json.dumps(name)}: {json.dumps(rules)}" for name, rules in fields.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def find_differences(before: Fields, after: Fields) -> list[str]:
    """Return a line for each rule that is lost or new, by the names of message and field."""
    old, new = _rules(before), _rules(after)
    lost = [f"-{rule}" for rule in sorted(old - new)]
    return lost + [f"+{rule}" for rule in sorted(new - old)]


def _rules(fields: Fields) -> set[str]:
    required = {
        f"{message}.{field}: required"
        for message, rules in fields.items()
        for field in rules.get("required", ())
    }
    limits = {
        f"{message}.{field}: at most {most} characters or entries"
        for message, rules in fields.items()
        for field, most in rules.get("longest", {}).items()
    }
    return required | limits


def main() -> int:
    """Write the file, or print the differences; 1 if there are some."""
    parser = argparse.ArgumentParser("python -m tools.vertex_fields", description=__doc__)
    parser.add_argument("--compare", action="store_true", help="write nothing")
    fields = generate()
    if not parser.parse_args().compare:
        FILE.write_text(as_text(fields), encoding="utf-8")
        return 0
    differences = find_differences(json.loads(FILE.read_text(encoding="utf-8")), fields)
    for line in differences:
        print(line)
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
