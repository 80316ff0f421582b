"""A stranger's package."""
