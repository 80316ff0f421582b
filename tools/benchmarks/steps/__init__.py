"""A training step, a whole process, and the number of threads."""
