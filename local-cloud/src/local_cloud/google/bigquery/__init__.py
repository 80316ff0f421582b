"""BigQuery: its REST API in front of DuckDB."""
