"""Jobs: queries, and loads and extracts of files."""
