"""The fields of the SageMaker SDK's objects."""

from __future__ import annotations

from typing import Any


def value_or_none(value: Any) -> Any:
    """Return a field of the SDK's object; None where the service has not said anything."""
    from sagemaker.core.utils.utils import Unassigned

    return None if isinstance(value, Unassigned) else value
