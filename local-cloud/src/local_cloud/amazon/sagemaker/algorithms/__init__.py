"""Amazon's built-in algorithms: programs that a job names by its image alone."""
