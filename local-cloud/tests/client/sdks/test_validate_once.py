"""The SageMaker SDK validates a configuration once, and not at each look into it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from local_cloud.client.sdks.amazon import _validate_once

SCHEMA = {"type": "object"}


class Jsonschema(ModuleType):
    """Counts, and takes nothing but dicts."""

    def __init__(self) -> None:
        super().__init__("jsonschema")
        self.validated: list[Any] = []

    def validate(self, instance: Any, schema: Any) -> None:
        self.validated.append(instance)
        if not isinstance(instance, dict):
            raise ValueError


def test_what_was_valid_is_not_validated_again_until_it_changes() -> None:
    counted, sdk = Jsonschema(), ModuleType("sagemaker.core.config.config")
    sdk.jsonschema = counted  # type: ignore[attr-defined]
    for _ in range(2):  # a module that is loaded again has its hook called again
        _validate_once(sdk)
    document = {"a": {"b": 1}}
    for _ in range(3):
        sdk.jsonschema.validate(document, SCHEMA)
    assert len(counted.validated) == 1
    document["a"]["b"] = 2
    sdk.jsonschema.validate(document, SCHEMA)
    sdk.jsonschema.validate(document, dict(SCHEMA))  # another schema
    assert len(counted.validated) == 3
    for _ in range(2):
        with pytest.raises(ValueError):
            sdk.jsonschema.validate([], SCHEMA)
    assert len(counted.validated) == 5
