"""SQL: what a statement may hold, what its names mean, and DuckDB's SQL for it."""
