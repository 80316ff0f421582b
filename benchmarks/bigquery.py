"""BigQuery by its client: the local cloud beside DuckDB and scikit-learn in one process.

`python -m benchmarks.bigquery ROWS ROUNDS` prints, as JSON, seconds for each turn of each measure;
they take turns. The local cloud loads the same Parquet file as DuckDB, into a file on the disk, and
trains on the same columns as scikit-learn, to the same number of iterations; of the rows it holds
10,000 back and evaluates on them.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.jobs import measure_seconds
from benchmarks.measure import as_table, last_line, ratio, say

ROWS, ROUNDS = 10_000_000, 3
FEATURES = ("distance", "seconds", "passengers", "tolls")
PROJECT = "benchmark"
# in DuckDB's words and, but for the table's name, in BigQuery's
SUMS = """SELECT passengers, COUNT(*) AS rides, AVG(distance) AS far, SUM(seconds) AS took,
MAX(tolls) AS most, AVG(CAST(tipped AS INT64)) AS tips FROM {} GROUP BY passengers ORDER BY 1"""
MODEL = """CREATE OR REPLACE MODEL d.m OPTIONS(model_type='logistic_reg',
input_label_cols=['tipped'], l2_reg=1, max_iterations=20)
AS SELECT {} FROM d.rides"""


def write(path: Path, rows: int) -> None:
    """Write rides with a label that depends on them, as Parquet."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "distance": random.gamma(2, 1.5, rows),
        "seconds": random.integers(60, 3600, rows),
        "passengers": random.integers(1, 7, rows),
        "tolls": random.choice([0.0, 0.0, 0.0, 5.5, 11.0], rows),
    }
    score = columns["distance"] - columns["seconds"] / 900 + columns["tolls"] / 5 - 1
    columns["tipped"] = random.random(rows) < 1 / (1 + np.exp(-score))
    pq.write_table(pa.table(columns), path)


def by_client(client: Any, file: Path) -> dict[str, Callable[[], float]]:
    """Return what is timed through the local cloud."""
    from google.cloud import bigquery

    def load() -> None:
        config = bigquery.LoadJobConfig(source_format="PARQUET", write_disposition="WRITE_TRUNCATE")
        with file.open("rb") as content:
            client.load_table_from_file(content, "d.rides", job_config=config).result()

    def aggregate() -> None:
        assert len(list(client.query_and_wait(SUMS.format("d.rides")))) == 6

    def train() -> None:
        client.query_and_wait(MODEL.format(", ".join([*FEATURES, "tipped"])))

    return {
        name: partial(measure_seconds, run) for name, run in name_measures(load, aggregate, train)
    }


def by_libraries(database: Any, file: Path) -> dict[str, Callable[[], float]]:
    """Return what is timed by DuckDB and scikit-learn."""

    def load() -> None:
        database.execute(f"CREATE OR REPLACE TABLE rides AS FROM read_parquet('{file}')")

    def aggregate() -> None:
        assert len(database.execute(SUMS.format("rides")).fetchall()) == 6

    def train() -> None:
        import numpy as np
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        found = database.execute(f"SELECT {', '.join([*FEATURES, 'tipped'])} FROM rides")
        columns = found.fetchnumpy()
        x = np.column_stack([columns[name] for name in FEATURES]).astype(float)
        scaled = StandardScaler().fit_transform(x)
        LogisticRegression(C=1, max_iter=20).fit(scaled, columns["tipped"])

    return {
        name: partial(measure_seconds, run) for name, run in name_measures(load, aggregate, train)
    }


def name_measures(
    load: Callable[[], None], aggregate: Callable[[], None], train: Callable[[], None]
) -> list[tuple[str, Callable[[], None]]]:
    """Return the measures, by name."""
    return [("load", load), ("aggregate", aggregate), ("logistic regression", train)]


def main() -> None:
    """Take every measure in turn, after a first round of a few rows that is not counted."""
    import duckdb
    from google.cloud import bigquery

    import local_cloud

    warnings.simplefilter("ignore")  # 20 iterations may be too few for scikit-learn's taste
    rows, rounds = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        os.environ["LOCAL_CLOUD_HOME"] = str(folder / "home")
        local_cloud.activate()
        client = bigquery.Client(project=PROJECT)
        client.create_dataset("d")
        settings: dict[str, Any] = {"memory_limit": "2GB", "threads": "2"}
        with duckdb.connect(str(folder / "plain.duckdb"), config=settings) as database:
            for count, turns in ((10_000, 1), (rows, rounds)):
                file = folder / f"{count}.parquet"
                write(file, count)
                ours, plain = by_client(client, file), by_libraries(database, file)
                measures: dict[str, Callable[[], Any]] = {
                    f"{kind} {name}": run
                    for name in ours
                    for kind, run in (("ours", ours[name]), ("plain", plain[name]))
                }
                found = [{name: run() for name, run in measures.items()} for _ in range(turns)]
        client.close()  # type: ignore[no-untyped-call]
        local_cloud.stop()
    print(json.dumps({name: [one[name] for one in found] for name in found[0]}))


def section() -> str:
    """Load, aggregate and train, beside the libraries alone."""
    say(f"bigquery: {ROWS:,} rows through the local cloud, and by DuckDB and scikit-learn ...")
    found = last_line("-m", "benchmarks.bigquery", str(ROWS), str(ROUNDS))
    return table(found, ROWS)


def table(found: dict[str, list[float]], rows: int) -> str:
    """Return the section in Markdown."""
    beside = {"load": "DuckDB", "aggregate": "DuckDB", "logistic regression": "both"}
    lines = []
    for name, library in beside.items():
        ours, plain = found[f"ours {name}"], found[f"plain {name}"]
        cells = (f"{statistics.median(times):.2f}" for times in (ours, plain))
        lines.append((name, library, *cells, f"**{ratio(ours, plain):.1f}**"))
    columns = ("what", "beside", "the local cloud", "alone", "times as long")
    heading = f"### BigQuery, {rows / 10**6:g} million rows: seconds (median)"
    return f"{heading}\n\n{as_table(columns, lines)}"


if __name__ == "__main__":
    main()
