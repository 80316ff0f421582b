"""Studies: what is tried next, which trials are stopped early, and their records."""
