"""The lock: what `make lock` resolves, and the hashes of what it has resolved to."""

GROUPS = ("lesson", "dev")  # of the lesson's pyproject.toml
