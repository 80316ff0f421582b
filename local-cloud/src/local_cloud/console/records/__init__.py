"""What pages read of jobs and resources."""
