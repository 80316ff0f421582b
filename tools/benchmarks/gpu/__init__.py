"""The script on a GPU."""
