"""BigQuery in a notebook and in a job."""

from __future__ import annotations

import json
import subprocess
import sys

from google.cloud import bigquery

from tests.client.test_in_job import on_vertex

CELLS = """
import json, local_cloud
from IPython.core.interactiveshell import InteractiveShell
local_cloud.activate()
shell = InteractiveShell.instance()
shell.run_cell("%load_ext bigquery_magics").raise_error()
cell = "%%bigquery frame --project bigquery-tests\\nSELECT x * 2 AS y FROM d.t"
shell.run_cell(cell).raise_error()
print(json.dumps(shell.user_ns["frame"]["y"].tolist()))
"""


def test_the_magic_runs_a_cell_of_sql(client: bigquery.Client, dataset: str) -> None:
    client.query_and_wait("CREATE TABLE d.t AS SELECT x FROM UNNEST([1, 2]) AS x")
    done = subprocess.run(
        [sys.executable, "-c", CELLS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [2, 4]
    assert "Storage" not in done.stderr, "it says nothing of the service that is not here"


def test_a_job_reads_and_writes_tables(client: bigquery.Client, dataset: str) -> None:
    client.query_and_wait("CREATE TABLE d.t AS SELECT 20 AS x")
    code = (
        "from google.cloud import bigquery\n"
        "client = bigquery.Client()\n"
        "client.query_and_wait('CREATE TABLE `bigquery-tests.d.of_job` AS"
        " SELECT x + 1 AS y FROM `bigquery-tests.d.t`')\n"
        "import json\nprint(json.dumps('done'))\n"
    )
    assert on_vertex(code) == ["done"]
    assert [row.y for row in client.query_and_wait("SELECT y FROM d.of_job")] == [21]
