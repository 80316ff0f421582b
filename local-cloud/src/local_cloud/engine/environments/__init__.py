"""What the Python of a job finds: its environment, packages and code."""
