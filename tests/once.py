"""Let Amazon's SDKs read and check once in a process what is always the same.

The SageMaker SDK checks the schema of its own settings about ten times for each job, a tenth of a
second each, and every boto3 session reads botocore's files again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import botocore.loaders
from jsonschema import Draft202012Validator

passed: list[Any] = []  # the schemas themselves: an `id` alone could be used again
check = Draft202012Validator.check_schema


def checked_once(schema: Any, *more: Any, **named: Any) -> None:
    """Check a schema, unless this very object has passed."""
    if not any(each is schema for each in passed):
        check(schema, *more, **named)
        passed.append(schema)


def install() -> None:
    """Install both in this process."""
    Draft202012Validator.check_schema = checked_once
    botocore.loaders.create_loader = cache(botocore.loaders.create_loader)
