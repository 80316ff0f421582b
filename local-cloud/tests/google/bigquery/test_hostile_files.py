"""Files of load jobs that would fill the server's memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cloud.google.bigquery.api.errors import Problem
from local_cloud.google.bigquery.jobs.reading import Source
from tests import bombs


@pytest.mark.parametrize("content", [bombs.csv_line(1 << 30), bombs.csv_line(1000)[:60]])
def test_the_first_row_of_a_packed_file_has_a_limit(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(Problem, match="Error while reading data"):
        Source(None, {"skipLeadingRows": "2"}, [tmp_path / "a.csv.gz"], fields=[])
