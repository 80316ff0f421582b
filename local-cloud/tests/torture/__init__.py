"""Hard treatment of the local cloud in one bounded command: `python -m tests.torture`."""
