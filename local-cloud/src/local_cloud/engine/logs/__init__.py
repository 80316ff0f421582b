"""What a job has written: the one way to read its files, and the times of its log's lines."""
