"""Two versions of the script against each other."""
