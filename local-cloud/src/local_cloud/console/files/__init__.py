"""What is shown of a file, read in a process with limits."""
