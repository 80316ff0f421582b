"""What there is: datasets, tables and their rows, by name."""
