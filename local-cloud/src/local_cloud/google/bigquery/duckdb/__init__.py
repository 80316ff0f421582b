"""DuckDB: its process, its file, its functions and its errors."""
