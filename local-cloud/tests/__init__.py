"""The local cloud's tests: they mirror the package, and read as documentation."""
