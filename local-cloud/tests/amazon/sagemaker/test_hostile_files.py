"""Files for jobs of SageMaker that would fill the server's memory."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from local_cloud.amazon.sagemaker.endpoints.batch_predictions import records
from local_cloud.amazon.sagemaker.jobs import metrics, search
from local_cloud.engine.spec import EngineError

MB = 1 << 20


@pytest.mark.parametrize("split", ["Line", "None"])
def test_a_record_of_a_transform_job_has_the_payload_as_limit(split: str) -> None:
    job: dict[str, Any] = {"TransformInput": {"SplitType": split}, "MaxPayloadInMB": 1}
    assert sum(map(len, records(io.BytesIO(b"1" * MB), job))) == MB
    with pytest.raises(EngineError, match="Too much data for max payload size"):
        list(records(io.BytesIO(b"1" * (MB + 1)), job))


def test_a_search_returns_a_limited_number_of_values(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a=1\n" * (search.MOST + 1000) + b"a=2\n")
    values = metrics.values("a=(.)", log, 60)
    assert len(values) == search.MOST and values[-1] == 2
