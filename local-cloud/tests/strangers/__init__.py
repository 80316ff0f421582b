"""Scripts in the manner of public examples, run in every place where a job can run."""
