"""The tests: they mirror the packages, and read as documentation."""
