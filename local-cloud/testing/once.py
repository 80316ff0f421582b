"""Let the SDKs do once in a process what is always the same.

The SageMaker SDK checks the schema of its own settings about ten times for each job, a tenth of a
second each, and every boto3 session reads botocore's files again. Vertex AI's SDK starts setup.py
for each job.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

import botocore.loaders

packed: dict[Any, bytes] = {}  # the packages that Vertex AI's SDK has made, by what is in them


def pack_once() -> None:
    """Have Vertex AI's SDK, which is loaded, make the same package of a script only once."""
    from google.cloud.aiplatform.utils import source_utils

    packager = source_utils._TrainingScriptPythonPackager
    make = packager.make_package
    if make.__module__ == __name__:
        return

    def made_once(self: Any, folder: str) -> str:
        script = Path(self.script_path)
        files = sorted(script.rglob("*")) if script.is_dir() else [script]
        content = [(str(file), file.read_bytes()) for file in files if file.is_file()]
        key = self.script_path, self.task_module_name, (*self.requirements,), (*content,)
        if key not in packed:
            packed[key] = Path(make(self, folder)).read_bytes()
        name = f"{self._ROOT_MODULE}-{self._SETUP_PY_VERSION}.tar.gz"
        (package := Path(folder, name)).write_bytes(packed[key])
        return str(package)

    packager.make_package = made_once


def install() -> None:
    """Install what concerns Amazon's SDKs in this process."""
    botocore.loaders.create_loader = cache(botocore.loaders.create_loader)
    # jsonschema would import this to check internationalised URIs: seconds, for 38 grammars.
    absent = sys.modules.setdefault("rfc3987_syntax", cast(Any, None)) is None
    from jsonschema import Draft202012Validator

    if absent:
        del sys.modules["rfc3987_syntax"]

    check = Draft202012Validator.check_schema
    passed: list[Any] = []  # the schemas themselves: an `id` alone could be used again

    def checked_once(schema: Any, *more: Any, **named: Any) -> None:
        """Check a schema, unless this very object has passed."""
        if not any(each is schema for each in passed):
            check(schema, *more, **named)
            passed.append(schema)

    Draft202012Validator.check_schema = checked_once
