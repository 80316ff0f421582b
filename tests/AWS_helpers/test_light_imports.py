"""SageMaker's SDK loads without grammars that it does not use."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import importlib.util, sys
from AWS_helpers.light_imports import import_jsonschema
import_jsonschema()
from jsonschema import Draft202012Validator, FormatChecker
assert "rfc3987_syntax" not in sys.modules
assert importlib.util.find_spec("rfc3987_syntax"), "for others it is there"
schema = {"type": "string", "format": "ipv4"}
checked = Draft202012Validator(schema, format_checker=FormatChecker())
assert checked.is_valid("127.0.0.1") and not checked.is_valid("127.0.0.1.evil")
"""


def test_jsonschema_is_whole_but_for_internationalised_uris() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
