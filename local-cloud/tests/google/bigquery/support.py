"""What tests of BigQuery share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.cloud import bigquery


@dataclass
class Run:
    """Runs queries with a default dataset."""

    client: bigquery.Client
    dataset: str

    def __call__(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows of its result."""
        return [tuple(row.values()) for row in self.iterate(query, *parameters)]

    def iterate(self, query: str, *parameters: Any) -> Any:
        """The client's iterator."""
        config = bigquery.QueryJobConfig(
            default_dataset=f"{self.client.project}.{self.dataset}",
            query_parameters=list(parameters),
        )
        return self.client.query_and_wait(query, job_config=config)
