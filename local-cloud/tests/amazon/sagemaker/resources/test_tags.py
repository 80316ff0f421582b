"""Tags: whose they can be is read from the operations that the service declares."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cloud.amazon.protocols.errors import ServiceError
from local_cloud.amazon.sagemaker.resources import tags
from local_cloud.store.records import Records


def test_the_refusal_names_the_declared_operations_that_take_tags(tmp_path: Path) -> None:
    declared = ["CreateModel", "DescribeModel", "CreateExperiment", "CreatePresignedDomainUrl"]
    operations = tags.operations(Records(tmp_path / "records.db"), declared)
    with pytest.raises(ServiceError, match=r"arn:x has no tags.*: CreateModel, CreateExperiment$"):
        operations["ListTags"]({"ResourceArn": "arn:x"})
